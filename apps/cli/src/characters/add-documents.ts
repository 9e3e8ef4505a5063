import { randomUUID } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { documentLimits, type SourceFile } from '#characters';
import { PlatformError } from '#common';
import { DocumentExtractor } from '#documents';
import type { HostSupervisor } from '#inference/host';
import { type EmbeddingPart, embeddingTask } from '#inference/tasks';
import { type InstalledModel, listInstalledModels } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { withCheckHost } from '../models/check-host.js';

export interface AddDocumentsOptions {
  model?: string;
  provider: string;
  json?: boolean;
}

/** Makes a folder the documents of a character. The installed model embeds them in a process of its own, for free. */
export async function addDocuments(
  context: CliContext,
  { slug, folder }: { slug: string; folder: string },
  options: AddDocumentsOptions,
): Promise<void> {
  const { output, signal } = context;
  const character = await (await context.requireCharacters()).find(slug);
  const documents = await context.requireDocuments();
  const files = await readDocumentFolder(folder);
  const model = await embeddingModel(context, options.model ?? character.documentsModel);
  const extractor = new DocumentExtractor();
  const textOf = async ({ name, bytes }: SourceFile): Promise<string> =>
    (await extractor.extract({ bytes, owner: slug, param: name, filename: name, signal })).text;
  const { id: modelId } = model.manifest;
  const changes = await withCheckHost(model, { options: { provider: options.provider }, signal }, (host) =>
    documents.replace(character, files, { modelId, textOf, embed: (texts) => embed(host, texts, signal) }),
  );
  if (options.json) return output.json({ slug, model: modelId, ...changes });
  for (const [what, names] of Object.entries(changes)) {
    for (const name of names as string[]) output.line(`${name}: ${what}`);
  }
  context.next(`a chat with "service_parameters": {"character_slug": "${slug}"}; keep ${modelId} installed`);
}

async function embeddingModel({ config }: CliContext, wanted: string | null | undefined): Promise<InstalledModel> {
  const installed = (await listInstalledModels(config.home)).filter(({ manifest }) => manifest.type === 'embedding');
  const byTrait = installed.toSorted((left, right) => rankOf(right) - rankOf(left));
  const found = byTrait.find(({ manifest }) => manifest.id === (wanted ?? manifest.id));
  if (found !== undefined) return found;
  const what = wanted ?? 'all-minilm-l6-v2';
  const message = `No embedding model ${wanted ?? ''}`.trimEnd();
  throw new PlatformError('INVALID_REQUEST', `${message} is installed. Install it with: sluice models pull ${what}`);
}

const rankOf = ({ manifest }: InstalledModel): number => manifest.traits?.['default'] ?? 0;

async function embed(host: HostSupervisor, texts: readonly string[], signal: AbortSignal): Promise<number[][]> {
  const vectors: number[][] = [];
  const onPart = (part: unknown): void => {
    const { indexes, dimensions, vectors: values } = part as EmbeddingPart;
    for (const [row, index] of indexes.entries()) {
      vectors[index] = [...values.slice(row * dimensions, (row + 1) * dimensions)];
    }
  };
  const input = { texts: [...texts], dimensions: null };
  const { cancelled } = await host.runTask({ id: randomUUID(), task: embeddingTask, input }, { signal, onPart });
  if (cancelled) throw new PlatformError('JOB_CANCELLED', 'The documents were not added.');
  return vectors;
}

/** Reads a folder and those in it, by name; hidden files are left out. Throws `INVALID_REQUEST` naming the file. */
async function readDocumentFolder(folder: string): Promise<SourceFile[]> {
  const paths = (await pathsIn(folder)).toSorted();
  if (paths.length === 0)
    throw refusal(`${folder} has no files. To remove documents: sluice characters documents remove`);
  if (paths.length > documentLimits.files) throw refusal(`${folder} has more than ${documentLimits.files} files.`);
  const files: SourceFile[] = [];
  for (const path of paths) {
    const name = relative(folder, path).split(sep).join('/');
    if (name.length > documentLimits.nameLength) {
      throw refusal(`${name}: the name has more than ${documentLimits.nameLength} characters.`);
    }
    if ((await stat(path)).size > documentLimits.fileBytes) throw refusal(`${name} has more than 25 MB.`);
    files.push({ name, bytes: await readFile(path) });
  }
  return files;
}

async function pathsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw refusal(`There is no folder ${folder}.`);
    throw error;
  });
  const visible = entries.filter(({ name }) => !name.startsWith('.'));
  const inner = await Promise.all(
    visible.filter((entry) => entry.isDirectory()).map(({ name }) => pathsIn(join(folder, name))),
  );
  const files = visible.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  return [...files, ...inner.flat()];
}

function refusal(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message);
}
