import { createHash } from 'node:crypto';
import { PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import { type DocumentRow, DocumentsRepository, type FoundPassage, type NewDocument } from './documents.repository.js';
import { embedPassages, type EmbedTexts } from './embed-passages.js';
import { splitIntoPassages } from './passages.js';

/** A file that becomes a document. */
export interface SourceFile {
  /** Path in its folder. */
  name: string;
  bytes: Buffer;
}

/** How files become passages. */
export interface DocumentTools {
  /** Model of the vectors. */
  modelId: string;
  /** Field to name in errors; absent: the name of the file. */
  param?: string;
  /** Rejects with what is wrong with a file. */
  textOf(file: SourceFile): Promise<string>;
  embed: EmbedTexts;
}

export const documentLimits = { files: 200, fileBytes: 25 * 1_048_576, passages: 2_000, nameLength: 200 } as const;

/** What a change of a character's documents did. */
export interface DocumentChanges {
  added: string[];
  removed: string[];
  kept: string[];
}

/** A character, and the model of its documents when they were last read. */
interface DocumentOwner {
  id: string;
  documentsModel: string | null;
}

type CountedDocument = DocumentRow & { passages: number };

/** The documents that characters answer from. */
@Injectable()
export class CharacterDocuments {
  constructor(private readonly documents: DocumentsRepository) {}

  list(characterId: string): Promise<CountedDocument[]> {
    return this.documents.list(characterId);
  }

  /**
   * Makes a folder the documents of a character: files that changed are read again, missing ones removed. Everything is
   * read and embedded first, so a failure changes nothing. Rejects with `INVALID_REQUEST` naming the file, and with
   * `SERVICE_UNAVAILABLE` if the documents changed meanwhile.
   */
  async replace(
    character: DocumentOwner,
    files: readonly SourceFile[],
    tools: DocumentTools,
  ): Promise<DocumentChanges> {
    const known = await this.documents.list(character.id);
    return await this.change(character, { known, others: [], files }, tools);
  }

  /**
   * Adds a file to the documents of a character, in place of one of the same name. Rejects as `replace` does, and for a
   * model that is not that of the other documents: only vectors of one model can be compared.
   */
  async add(character: DocumentOwner, file: SourceFile, tools: DocumentTools): Promise<DocumentChanges> {
    const known = await this.documents.list(character.id);
    const others = known.filter(({ name }) => name !== file.name);
    if (others.length >= documentLimits.files) {
      const message = `A character has at most ${documentLimits.files} documents.`;
      throw new PlatformError('INVALID_REQUEST', message, tools.param ?? file.name);
    }
    const { documentsModel } = character;
    if (others.length > 0 && documentsModel !== null && documentsModel !== tools.modelId) {
      const message = `The other documents were embedded by ${documentsModel}: name that model, or none.`;
      throw new PlatformError('INVALID_REQUEST', message, 'model');
    }
    return await this.change(character, { known, others, files: [file] }, tools);
  }

  /** Removes one document. Rejects with `NOT_FOUND`, and with `SERVICE_UNAVAILABLE` as `replace` does. */
  async remove(character: DocumentOwner, documentId: string): Promise<void> {
    const known = await this.documents.list(character.id);
    if (!known.some(({ id }) => id === documentId)) {
      throw new PlatformError('NOT_FOUND', 'The character has no such document.', 'id');
    }
    const modelId = known.length > 1 ? character.documentsModel : null;
    await this.write(character, known, { removed: [documentId], added: [], modelId });
  }

  /** Removes all documents of a character; returns their number. Rejects with `SERVICE_UNAVAILABLE` as `replace` does. */
  async clear(character: DocumentOwner): Promise<number> {
    const known = await this.documents.list(character.id);
    await this.write(character, known, { removed: known.map(({ id }) => id), added: [], modelId: null });
    return known.length;
  }

  /** Returns the passages of a character that are closest to a vector, the closest first. */
  search(characterId: string, vector: readonly number[], count: number): Promise<FoundPassage[]> {
    return this.documents.search(characterId, unitVector(vector), count);
  }

  /** Makes the files and those of the `known` documents that are `others` the documents of a character. */
  private async change(
    character: DocumentOwner,
    { known, others, files }: { known: CountedDocument[]; others: CountedDocument[]; files: readonly SourceFile[] },
    tools: DocumentTools,
  ): Promise<DocumentChanges> {
    const hashes = new Map(files.map((file) => [file.name, hashOf(file.bytes)]));
    const isSameModel = character.documentsModel === tools.modelId;
    const stays = (row: CountedDocument): boolean =>
      others.includes(row) || (isSameModel && hashes.get(row.name) === row.sha256);
    const kept = known.filter(stays);
    const keptNames = new Set(kept.map(({ name }) => name));
    const changed = files.filter(({ name }) => !keptNames.has(name));
    const before = kept.reduce((sum, { passages }) => sum + passages, 0);
    const added = await readAll(changed, hashes, before, tools);
    const removed = known.filter((row) => !stays(row));
    const isEmpty = kept.length + added.length === 0;
    const modelId = isEmpty ? null : tools.modelId;
    await this.write(character, known, { removed: removed.map((row) => row.id), added, modelId });
    const addedNames = new Set(added.map(({ name }) => name));
    return {
      added: [...addedNames],
      removed: removed.map(({ name }) => name).filter((name) => !addedNames.has(name)),
      kept: [...keptNames],
    };
  }

  private async write(
    character: DocumentOwner,
    known: readonly DocumentRow[],
    changes: { removed: readonly string[]; added: readonly NewDocument[]; modelId: string | null },
  ): Promise<void> {
    if (await this.documents.change({ ...character, documentIds: known.map(({ id }) => id) }, changes)) return;
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The documents of the character changed meanwhile. Try again.');
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
    const { param = name } = tools;
    const texts = splitIntoPassages((await tools.textOf(file)).replaceAll('\0', ''));
    if (texts.length === 0) throw new PlatformError('INVALID_REQUEST', `${name} has no text.`, param);
    count += texts.length;
    if (count > documentLimits.passages) {
      const message = `${name}: the documents of a character have at most ${documentLimits.passages} passages.`;
      throw new PlatformError('INVALID_REQUEST', message, param);
    }
    const vectors = await embedPassages(texts, tools.embed);
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
