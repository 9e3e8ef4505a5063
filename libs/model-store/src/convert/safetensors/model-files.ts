import { readdir } from 'node:fs/promises';
import { filesAmong, filesBelow } from '../../files-below.js';
import type { ByteSource } from '../byte-source.js';
import { InputFile } from '../input-file.js';
import { invalidFile, jsonFault } from '../invalid-file.js';
import { parsePythonJson } from '../python-json.js';

/** The files of a model, in a folder or behind a url, by their paths. */
export interface ModelFiles {
  readonly names: ReadonlySet<string>;
  /** The caller closes what has a `close`. */
  open(name: string): Promise<ByteSource & { close?(): Promise<void> }>;
}

export async function filesOfFolder(folder: string): Promise<ModelFiles> {
  const entries = await filesAmong(await readdir(folder, { withFileTypes: true }));
  const names = new Set(entries.map(({ name }) => name));
  return { names, open: (name) => InputFile.open(folder, name) };
}

/** The same with the files of all folders below. */
export async function filesBelowFolder(folder: string): Promise<ModelFiles> {
  return { names: new Set(await filesBelow(folder)), open: (name) => InputFile.open(folder, name) };
}

/** The files of a folder among others. */
export function filesIn({ names, open }: ModelFiles, folder: string): ModelFiles {
  const prefix = `${folder}/`;
  const inner = [...names].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return { names: new Set(inner), open: (name) => open(prefix + name) };
}

/** No configuration of a model comes near this size. */
const maxJsonBytes = 64 * 1024 * 1024;

/** Reads a JSON object. Throws `INVALID_MODEL` if it is missing or something else. */
export async function readJsonObject(files: ModelFiles, name: string): Promise<Record<string, unknown>> {
  const content = await readJsonValue(files, name);
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw invalidFile(name, 'it is no JSON object');
  }
  return content as Record<string, unknown>;
}

/** Reads JSON. Throws `INVALID_MODEL` if it is missing or something else. */
export async function readJsonValue(files: ModelFiles, name: string): Promise<unknown> {
  if (!files.names.has(name)) throw invalidFile(name, 'it is missing');
  const file = await files.open(name);
  try {
    if (file.bytes > maxJsonBytes) throw invalidFile(name, `it has ${file.bytes} bytes, too many for a configuration`);
    return parsePythonJson(Buffer.from(await file.read(0, file.bytes)).toString('utf8'));
  } catch (error) {
    throw error instanceof SyntaxError ? invalidFile(name, jsonFault(error)) : error;
  } finally {
    await file.close?.();
  }
}
