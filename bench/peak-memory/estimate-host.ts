import { decoderMemory, familyMemory, peakBytes } from '#model-memory';
import type { HostLoadOptions } from '#inference/host';
import type { InstalledModel } from '#model-store';
import { readDecoderSize, readFamilySize } from '#model-store/memory';

export interface HostEstimate {
  bytes: number;
  /** Computed from the graph; else by family, which may be too high for one of its models, but not too low. */
  isExact: boolean;
}

/** Memory of the host of a model whose largest run takes as much as the api lets it, if there is an estimate of that. */
export async function estimateHost(
  { manifest, folder }: InstalledModel,
  use: Pick<HostLoadOptions, 'slots' | 'contextLength' | 'cacheTokens'>,
  largestRun: number,
): Promise<HostEstimate> {
  const isText = manifest.family === 'decoder';
  const mayBeDecoder = isText || manifest.family === 'vision-language';
  const size = mayBeDecoder ? await readDecoderSize(folder, manifest) : null;
  if (size !== null) return { bytes: peakBytes(decoderMemory(size, use)), isExact: true };
  const tokens = isText ? use.cacheTokens : use.contextLength;
  const { process, weights, work } = familyMemory(await readFamilySize(folder, manifest, tokens));
  return { bytes: process + weights + Math.max(work, largestRun), isExact: false };
}
