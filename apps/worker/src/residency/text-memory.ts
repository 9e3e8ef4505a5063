import { hostLoadOptions } from '#inference/host';
import { readDecoderSize, readFamilySize } from '#model-store/memory';
import { decoderMemory, type DecoderSize, familyPeakBytes, peakBytes } from '#platform/memory';
import type { InstalledModel } from '../models-folder.js';

const known = new WeakMap<InstalledModel, Promise<DecoderSize | null>>();

/** Memory of the host of a text model on a CPU, in bytes. */
export interface TextMemory {
  /** With one request of the whole context: less is of no use. */
  leastBytes: number;
  /** With all requests and tokens that its manifest allows. */
  fullBytes: number;
}

/** Returns the memory of a decoder; null for other models, and for graphs that cannot be read. */
export async function textMemory(model: InstalledModel): Promise<TextMemory | null> {
  const { manifest, directory } = model;
  if (manifest.family !== 'decoder') return null;
  const size = await decoderSizeOf(model);
  if (size === null) return null;
  const { slots, contextLength, cacheTokens } = hostLoadOptions({ manifest, directory }, { providers: ['cpu'] });
  const bytesOf = (requests: number, tokens: number) =>
    peakBytes(decoderMemory(size, { slots: requests, contextLength, cacheTokens: tokens }));
  return { leastBytes: bytesOf(1, Math.min(cacheTokens, contextLength)), fullBytes: bytesOf(slots, cacheTokens) };
}

/** Cached, because an installed model never changes. */
function decoderSizeOf(model: InstalledModel): Promise<DecoderSize | null> {
  const before = known.get(model);
  if (before !== undefined) return before;
  // The loader says what is wrong with a graph.
  const size = readDecoderSize(model.directory, model.manifest.graphFile).catch(() => null);
  known.set(model, size);
  return size;
}

/** Memory of the host of any other model on a CPU, in bytes. */
export async function familyBytes({ manifest, directory }: InstalledModel): Promise<number> {
  const { contextLength, cacheTokens } = hostLoadOptions({ manifest, directory }, { providers: ['cpu'] });
  const tokens = manifest.family === 'decoder' ? cacheTokens : contextLength;
  return familyPeakBytes(await readFamilySize(directory, manifest, tokens));
}
