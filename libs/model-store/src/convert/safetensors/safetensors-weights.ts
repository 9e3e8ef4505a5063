import type { ByteSource } from '../byte-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import { type ModelFiles, readJsonObject } from './model-files.js';
import { readSafetensorsHeader, type SafetensorsEntry } from './safetensors-header.js';

/** A tensor and the file that holds it. */
export interface StoredTensor {
  file: ByteSource;
  entry: SafetensorsEntry;
}

const singleFile = 'model.safetensors';
const indexFile = 'model.safetensors.index.json';

/** The names of the weight files: one, or the shards that an index names. */
export async function weightFiles(files: ModelFiles): Promise<string[]> {
  if (files.names.has(singleFile)) return [singleFile];
  return [...new Set(Object.values(await readIndex(files)))].sort();
}

/** The tensors of `model.safetensors`, or of the shards of `model.safetensors.index.json`. Reads headers only. */
export class SafetensorsWeights {
  private constructor(
    readonly tensors: ReadonlyMap<string, StoredTensor>,
    private readonly opened: readonly { close?(): Promise<void> }[],
  ) {}

  static async open(files: ModelFiles): Promise<SafetensorsWeights> {
    const opened: (ByteSource & { close?(): Promise<void> })[] = [];
    const headers = new Map<string, ReadonlyMap<string, SafetensorsEntry>>();
    const sources = new Map<string, ByteSource>();
    try {
      for (const name of await weightFiles(files)) {
        const file = await files.open(name);
        opened.push(file);
        sources.set(name, file);
        headers.set(name, await readSafetensorsHeader(file));
      }
      const single = headers.get(singleFile);
      const places = single ? [...single.keys()].map((name) => [name, singleFile]) : await indexed(files);
      const tensors = new Map<string, StoredTensor>();
      for (const [name = '', fileName = ''] of places) {
        const [file, entry] = [sources.get(fileName), headers.get(fileName)?.get(name)];
        if (!file || !entry) throw invalidFile(fileName, `it has no ${quoted(name)}, which ${indexFile} says`);
        tensors.set(name, { file, entry });
      }
      return new SafetensorsWeights(tensors, opened);
    } catch (error) {
      await closeAll(opened);
      throw error;
    }
  }

  close(): Promise<void> {
    return closeAll(this.opened);
  }
}

async function closeAll(opened: readonly { close?(): Promise<void> }[]): Promise<void> {
  for (const file of opened) await file.close?.();
}

async function indexed(files: ModelFiles): Promise<[string, string][]> {
  return Object.entries(await readIndex(files));
}

/** Returns the file of each tensor. */
async function readIndex(files: ModelFiles): Promise<Record<string, string>> {
  if (!files.names.has(indexFile)) throw invalidFile(singleFile, 'it is missing');
  const { weight_map: map } = await readJsonObject(files, indexFile);
  if (typeof map !== 'object' || map === null) throw invalidFile(indexFile, 'it has no weight_map');
  for (const [tensor, file] of Object.entries(map as Record<string, unknown>)) {
    // A shard is a file of the same folder.
    if (typeof file !== 'string' || !/^[\w.-]+\.safetensors$/.test(file)) {
      throw invalidFile(indexFile, `it puts ${quoted(tensor)} into a file that is no .safetensors file of the model`);
    }
    if (!files.names.has(file)) throw invalidFile(file, `it is missing, and ${indexFile} puts ${quoted(tensor)} there`);
  }
  return map as Record<string, string>;
}
