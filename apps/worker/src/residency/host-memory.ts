import { hostLoadOptions } from '#inference/host';
import { readDecoderSize, readFamilySize } from '#model-store/memory';
import {
  decoderMemory,
  type DecoderSize,
  familyHostMemory,
  type FamilySize,
  type HostMemory,
  peakBytes,
} from '#model-memory';
import type { InstalledModel } from '../models-folder.js';

/** Families whose graph may be one of our converters. */
const decoderFamilies: ReadonlySet<string> = new Set(['decoder', 'vision-language']);

const knownDecoders = new WeakMap<InstalledModel, Promise<DecoderSize | null>>();
const knownFamilies = new WeakMap<InstalledModel, Promise<FamilySize>>();

/** Returns the memory of the host of a model on a CPU. */
export async function hostMemory(model: InstalledModel): Promise<HostMemory> {
  const { manifest, directory } = model;
  const { slots, contextLength, cacheTokens } = hostLoadOptions({ manifest, directory }, { providers: ['cpu'] });
  const size = decoderFamilies.has(manifest.family) ? await decoderSizeOf(model) : null;
  const longest = manifest.family === 'decoder' ? cacheTokens : contextLength;
  if (size === null) return familyHostMemory(await familySizeOf(model, longest), contextLength);
  const bytesOf = (requests: number, tokens: number) =>
    peakBytes(decoderMemory(size, { slots: requests, contextLength, cacheTokens: tokens }));
  return { leastBytes: bytesOf(1, Math.min(cacheTokens, contextLength)), fullBytes: bytesOf(slots, cacheTokens) };
}

/** Cached, because an installed model never changes. */
function decoderSizeOf(model: InstalledModel): Promise<DecoderSize | null> {
  const before = knownDecoders.get(model);
  if (before !== undefined) return before;
  // Not the graph of a converter, or one of which the loader says what is wrong.
  const size = readDecoderSize(model.directory, model.manifest).catch(() => null);
  knownDecoders.set(model, size);
  return size;
}

/** Cached, as above; read again after a failure. */
function familySizeOf(model: InstalledModel, maxTokens: number): Promise<FamilySize> {
  const before = knownFamilies.get(model);
  if (before !== undefined) return before;
  const size = readFamilySize(model.directory, model.manifest, maxTokens);
  knownFamilies.set(model, size);
  size.catch(() => knownFamilies.delete(model));
  return size;
}
