import type { CacheScales } from '#model-store/device';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';

/** The largest code of 8 bits. */
const largestCode = 127;

/** One scale for the keys of a layer and one for its values, or one for every value of every head. */
export type ScaleKind = 'tensor' | 'channel';

/**
 * Returns scales with which the largest key and value of a text are the largest code. Keys are kept rotated, so that a pair
 * of halves counts with its length: at later positions either may have all of it. `session` runs the split graph, whose new
 * positions are what a cache holds.
 */
export async function calibrateScales(
  session: GraphSession,
  tokenIds: Int32Array,
  kind: ScaleKind,
): Promise<CacheScales[]> {
  const { new_kv: fresh } = await session.run(feedsOf(session, tokenIds), ['new_kv']);
  if (!(fresh?.data instanceof Float32Array)) throw new TypeError('The graph returned no keys and values.');
  const { data, dims } = fresh;
  // All caches, one row, heads, tokens, and the values of a head.
  const [caches = 0, , heads = 0, steps = 0, headSize = 0] = dims;
  const scalesOf = (cache: number): Float32Array => {
    const isKey = cache % 2 === 0;
    const largest = new Float32Array(heads * headSize);
    const first = cache * heads * steps * headSize;
    for (let index = 0; index < heads * steps * headSize; index += 1) {
      const place = index % headSize;
      const channel = Math.floor(index / (steps * headSize)) * headSize + place;
      const value = data[first + index] as number;
      const other = data[first + index - place + ((place + headSize / 2) % headSize)] as number;
      largest[channel] = Math.max(largest[channel] as number, isKey ? Math.hypot(value, other) : Math.abs(value));
    }
    const wanted = kind === 'channel' ? largest : Float32Array.of(Math.max(...largest));
    // A channel without values needs a scale too.
    return wanted.map((value) => Math.max(value, Number.EPSILON) / largestCode);
  };
  return Array.from({ length: caches / 2 }, (_, layer) => {
    return { keys: scalesOf(2 * layer), values: scalesOf(2 * layer + 1) };
  });
}

/** Returns inputs of the split graph for a prompt without a past. */
function feedsOf(session: GraphSession, tokenIds: Int32Array): Record<string, GraphTensor> {
  const integers = (dims: number[], values: ArrayLike<number>) => {
    return session.tensor('int64', BigInt64Array.from(values, BigInt), dims);
  };
  return Object.fromEntries(
    session.inputs.map(({ name, shape: [, heads, , headSize] }) => {
      if (name === 'input_ids') return [name, integers([1, tokenIds.length], tokenIds)];
      if (name === 'last_index') return [name, integers([1], [tokenIds.length - 1])];
      if (name === 'wanted_ids') return [name, integers([1, 1], [0])];
      if (!name.startsWith('past_key_values.')) return [name, integers([1], [0])];
      const dims = [1, Number(heads), 1, Number(headSize)];
      return [name, session.tensor('float32', new Float32Array(Number(heads) * Number(headSize)), dims)];
    }),
  );
}
