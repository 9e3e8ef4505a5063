import type { AttentionSizes } from '#model-store/device';
import type { DeviceGraph } from '../../runtime/decoder-graph.js';
import { floatTensor, floatsOf } from '../../runtime/float-tensor.js';
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
  if (provider === 'cpu') return Infinity;
  const { attentionGraph } = await import('#model-store/device');
  const { kvHeads, headDim, cacheType } = cache;
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
async function attend(
  session: GraphSession,
  { heads, keyValueHeads, headSize }: AttentionSizes,
  pieces: readonly number[],
): Promise<number[]> {
  const emptyCache = (input: string) => {
    const data = new Float32Array(trialTokens * keyValueHeads * headSize);
    return floatTensor(session, { input, data, dims: [1, keyValueHeads, trialTokens, headSize] });
  };
  let [key, value]: [GraphTensor, GraphTensor] = [emptyCache('past_key'), emptyCache('past_value')];
  let length = 0;
  const results: number[] = [];
  for (const tokens of pieces) {
    const values = (input: string, count: number, seed: number): GraphTensor => {
      const width = count * headSize;
      const data = Float32Array.from({ length: tokens * width }, (_, index) => spread(length * width + index, seed));
      return floatTensor(session, { input, data, dims: [1, tokens, width] });
    };
    const feeds = {
      query: values('query', heads, 1),
      key: values('key', keyValueHeads, 2),
      value: values('value', keyValueHeads, 3),
      past_key: key,
      past_value: value,
      seqlens_k: session.tensor('int32', Int32Array.of(length + tokens - 1), [1]),
      total_length: session.tensor('int32', Int32Array.of(length + tokens), [1]),
    };
    const outputs = await session.run(feeds, ['y', 'present_key', 'present_value']);
    [key, value] = [outputs['present_key'] as GraphTensor, outputs['present_value'] as GraphTensor];
    results.push(...floatsOf(outputs['y']));
    length += tokens;
  }
  return results;
}

/** Numbers from -1 to 1 without a pattern that a kernel could hide a fault in. */
function spread(index: number, seed: number): number {
  const wave = Math.sin(index * 78.233 + seed * 12.9898) * 43_758.545_3;
  return 2 * (wave - Math.floor(wave)) - 1;
}
