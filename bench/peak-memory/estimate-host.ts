import { join } from 'node:path';
import { stat } from 'node:fs/promises';
import { decoderMemory, peakBytes, runtimeBytes } from '#platform/memory';
import type { HostLoadOptions } from '#inference/host';
import type { InstalledModel } from '#model-store';
import { readDecoderSize } from '#model-store/memory';

/** The limits of the cases are a fifth above what was measured once. */
export const limitOverPeak = 1.2;

export interface HostEstimate {
  bytes: number;
  /** Computed from the graph; else files and largest run, which is only shown. */
  isChecked: boolean;
}

/** Memory of the host of a model: of a decoder by its graph, of another by its files and its largest run. */
export async function estimateHost(
  { manifest, record, folder }: InstalledModel,
  use: Pick<HostLoadOptions, 'slots' | 'contextLength' | 'cacheTokens'>,
  largestRun: number,
): Promise<HostEstimate> {
  const size = manifest.family === 'decoder' ? await readDecoderSize(folder, manifest.graphFile) : null;
  if (size !== null) return { bytes: peakBytes(decoderMemory(size, use)), isChecked: true };
  const sizes = await Promise.all(record.files.map(async ({ path }) => (await stat(join(folder, path))).size));
  return { bytes: runtimeBytes + sizes.reduce((sum, bytes) => sum + bytes, 0) + largestRun, isChecked: false };
}
