import { readdir } from 'node:fs/promises';
import { filesAmong } from '../../files-below.js';
import type { ByteSource } from '../byte-source.js';
import { InputFile } from '../input-file.js';
import { invalidFile, jsonFault } from '../invalid-file.js';

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

/** No configuration of a model comes near this size. */
const maxJsonBytes = 64 * 1024 * 1024;

/** Reads a JSON object. Throws `INVALID_MODEL` if it is missing or something else. */
export async function readJsonObject(files: ModelFiles, name: string): Promise<Record<string, unknown>> {
  if (!files.names.has(name)) throw invalidFile(name, 'it is missing');
  const file = await files.open(name);
  try {
    if (file.bytes > maxJsonBytes) throw invalidFile(name, `it has ${file.bytes} bytes, too many for a configuration`);
    const content: unknown = JSON.parse(Buffer.from(await file.read(0, file.bytes)).toString('utf8'));
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      throw invalidFile(name, 'it is no JSON object');
    }
    return content as Record<string, unknown>;
  } catch (error) {
    throw error instanceof SyntaxError ? invalidFile(name, jsonFault(error)) : error;
  } finally {
    await file.close?.();
  }
}
