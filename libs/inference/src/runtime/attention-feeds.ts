import type { AttentionSizes } from '#model-store/device';
import { floatTensor } from './float-tensor.js';
import type { GraphSession, GraphTensor } from './graph-session.js';

/** Keys and values of one row. */
export type AttentionCache = Record<'past_key' | 'past_value', GraphTensor>;

/** Returns a cache of one row with zeros, for a graph of attention alone. */
export function emptyCache(session: GraphSession, sizes: AttentionSizes, capacity: number): AttentionCache {
  const { keyValueHeads, headSize } = sizes;
  const zeros = (input: string) => {
    const data = new Float32Array(capacity * keyValueHeads * headSize);
    return floatTensor(session, { input, data, dims: [1, keyValueHeads, capacity, headSize] });
  };
  return { past_key: zeros('past_key'), past_value: zeros('past_value') };
}

/** Returns what a graph of attention alone takes for tokens of one row, behind the `length` positions of its cache. */
export function attentionFeeds(
  session: GraphSession,
  { heads, keyValueHeads, headSize }: AttentionSizes,
  { cache, length, tokens }: { cache: AttentionCache; length: number; tokens: number },
): Record<string, GraphTensor> {
  const values = (input: string, count: number, seed: number): GraphTensor => {
    const width = count * headSize;
    const data = Float32Array.from({ length: tokens * width }, (_, index) => spread(length * width + index, seed));
    return floatTensor(session, { input, data, dims: [1, tokens, width] });
  };
  const integer = (value: number) => session.tensor('int32', Int32Array.of(value), [1]);
  return {
    query: values('query', heads, 1),
    key: values('key', keyValueHeads, 2),
    value: values('value', keyValueHeads, 3),
    ...cache,
    seqlens_k: integer(length + tokens - 1),
    total_length: integer(length + tokens),
  };
}

/** Numbers from -1 to 1 without a pattern that a kernel could hide a fault in. */
function spread(index: number, seed: number): number {
  const wave = Math.sin(index * 78.233 + seed * 12.9898) * 43_758.545_3;
  return 2 * (wave - Math.floor(wave)) - 1;
}
