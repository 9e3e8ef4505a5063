import { createHash } from 'node:crypto';
import { PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import { type DocumentRow, DocumentsRepository, type FoundPassage, type NewDocument } from './documents.repository.js';
import { splitIntoPassages } from './passages.js';

/** A file as found in a folder. */
export interface SourceFile {
  /** Path in the folder. */
  name: string;
  bytes: Buffer;
}

/** How a folder becomes passages. */
export interface DocumentTools {
  /** Model of the vectors. */
  modelId: string;
  /** Rejects with what is wrong with a file. */
  textOf(file: SourceFile): Promise<string>;
  /** Returns a vector for each text. */
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>;
}

export const documentLimits = { files: 200, fileBytes: 25 * 1_048_576, passages: 2_000, nameLength: 200 } as const;

/** What a change of a character's documents did. */
export interface DocumentChanges {
  added: string[];
  removed: string[];
  kept: string[];
}

/** The documents that characters answer from. */
@Injectable()
export class CharacterDocuments {
  constructor(private readonly documents: DocumentsRepository) {}

  list(characterId: string): Promise<(DocumentRow & { passages: number })[]> {
    return this.documents.list(characterId);
  }

  /**
   * Makes a folder the documents of a character: files that changed are read again, missing ones removed. Everything is
   * read and embedded first, so a failure changes nothing. Rejects with `INVALID_REQUEST` naming the file.
   */
  async replace(
    { id, documentsModel }: { id: string; documentsModel: string | null },
    files: readonly SourceFile[],
    tools: DocumentTools,
  ): Promise<DocumentChanges> {
    const known = await this.documents.list(id);
    const hashes = new Map(files.map((file) => [file.name, hashOf(file.bytes)]));
    const stays = ({ name, sha256 }: DocumentRow): boolean =>
      documentsModel === tools.modelId && hashes.get(name) === sha256;
    const kept = known.filter(stays);
    const keptNames = new Set(kept.map(({ name }) => name));
    const changed = files.filter(({ name }) => !keptNames.has(name));
    const before = kept.reduce((sum, { passages }) => sum + passages, 0);
    const added = await readAll(changed, hashes, before, tools);
    const removed = known.filter((row) => !stays(row));
    const isEmpty = kept.length + added.length === 0;
    const modelId = isEmpty ? null : tools.modelId;
    await this.documents.change(id, { removed: removed.map((row) => row.id), added, modelId });
    const addedNames = new Set(added.map(({ name }) => name));
    return {
      added: [...addedNames],
      removed: removed.map(({ name }) => name).filter((name) => !addedNames.has(name)),
      kept: [...keptNames],
    };
  }

  /** Removes all documents of a character; returns their number. */
  async clear(characterId: string): Promise<number> {
    const known = await this.documents.list(characterId);
    await this.documents.change(characterId, { removed: known.map(({ id }) => id), added: [], modelId: null });
    return known.length;
  }

  /** Returns the passages of a character that are closest to a vector, the closest first. */
  search(characterId: string, vector: readonly number[], count: number): Promise<FoundPassage[]> {
    return this.documents.search(characterId, unitVector(vector), count);
  }
}

async function readAll(
  files: readonly SourceFile[],
  hashes: ReadonlyMap<string, string>,
  before: number,
  tools: DocumentTools,
): Promise<NewDocument[]> {
  const documents: NewDocument[] = [];
  let count = before;
  for (const file of files) {
    const { name } = file;
    const texts = splitIntoPassages((await tools.textOf(file)).replaceAll('\0', ''));
    if (texts.length === 0) throw new PlatformError('INVALID_REQUEST', `${name} has no text.`, name);
    count += texts.length;
    if (count > documentLimits.passages) {
      const message = `${name}: the documents of a character have at most ${documentLimits.passages} passages.`;
      throw new PlatformError('INVALID_REQUEST', message, name);
    }
    const vectors = await tools.embed(texts);
    const passages = texts.map((text, index) => ({ text, embedding: unitVector(vectors[index] ?? []) }));
    documents.push({ name, sha256: hashes.get(name) ?? '', passages });
  }
  return documents;
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function unitVector(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return length === 0 ? [...vector] : vector.map((value) => value / length);
}
