import type { AttentionSizes } from '#model-store/device';
import { attentionFeeds, emptyCache } from '../../runtime/attention-feeds.js';
import type { DeviceGraph } from '../../runtime/decoder-graph.js';
import { floatsOf } from '../../runtime/float-tensor.js';
import type { GraphDevice, GraphSession, GraphTensor } from '../../runtime/graph-session.js';

/** Tokens of one run that drivers compute right with the operator's plain kernel. Above it has another one. */
export const safePiece = 31;

/** Tokens of the trial: the other kernel's first ones, and a part of its next tile. */
const trialTokens = 48;

/** How far the kernels may be apart, for values up to 1: their sums are in another order, maybe of half floats. */
const tolerance = 0.01;

/** Where a model runs, and the sizes of its cache. */
export interface PieceTrial extends Pick<DeviceGraph, 'kvHeads' | 'headDim' | 'cacheType'> {
  device: Pick<GraphDevice, 'openBeside'>;
  provider: string;
}

/**
 * Returns how many tokens of a prompt a run may take; infinity if any number. For 32 tokens or more, the operator of WebGPU has a kernel
 * that depends on the driver's subgroups, and returns wrong numbers with some. Found by computing the operator alone both
 * ways: in the logits of a model whose layers mostly have windows, which have another kernel, the fault may be small.
 */
export async function findPieceLength({ device, provider, ...cache }: PieceTrial): Promise<number> {
  const { kvHeads, headDim, cacheType } = cache;
  // Integers are kept on the processor only.
  if (provider === 'cpu' || cacheType === 'int8') return Infinity;
  const { attentionGraph } = await import('#model-store/device');
  const sizes = { heads: 2 * kvHeads, keyValueHeads: kvHeads, headSize: headDim };
  const session = await device.openBeside(attentionGraph(sizes, cacheType));
  try {
    const whole = await attend(session, sizes, [trialTokens]);
    const inPieces = await attend(session, sizes, [safePiece, trialTokens - safePiece]);
    const isSame = whole.every((value, index) => Math.abs(value - (inPieces[index] ?? NaN)) <= tolerance);
    return isSame ? Infinity : safePiece;
  } finally {
    await session.release();
  }
}

/** Returns what the operator gives for the tokens of the trial, in runs of some tokens each. */
async function attend(session: GraphSession, sizes: AttentionSizes, pieces: readonly number[]): Promise<number[]> {
  let cache = emptyCache(session, sizes, trialTokens);
  let length = 0;
  const results: number[] = [];
  for (const tokens of pieces) {
    const feeds = attentionFeeds(session, sizes, { cache, length, tokens });
    const outputs = await session.run(feeds, ['y', 'present_key', 'present_value']);
    cache = {
      past_key: outputs['present_key'] as GraphTensor,
      past_value: outputs['present_value'] as GraphTensor,
    };
    results.push(...floatsOf(outputs['y']));
    length += tokens;
  }
  return results;
}
