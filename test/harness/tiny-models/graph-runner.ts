import { InferenceSession, Tensor } from 'onnxruntime-node';
import { productOf } from '#common/values';

/** Key and value buffers of one sequence of a split graph, and the number of stored positions. */
interface SplitCache {
  length: number;
  capacity: number;
  pasts: { name: string; heads: number; size: number; buffer: Float32Array }[];
}

export interface RunnerShape {
  layers: number;
  keyValueHeads: number;
  headSize: number;
  vocabularySize: number;
}

/** Result of one run for the next token. `top` and `logSumExp` come from graphs that compute them. */
export interface NextToken {
  logits: Float32Array;
  top?: { values: Float32Array; ids: number[] };
  logSumExp?: number;
}

/** Feeds one sequence to a graph, some tokens at a time: a minimal implementation for comparing layouts. */
export interface SequenceRunner {
  append(tokenIds: number[]): Promise<NextToken>;
  release(): Promise<void>;
}

const sessionOptions: InferenceSession.SessionOptions = {
  executionProviders: ['cpu'],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  logSeverityLevel: 3,
};

const cacheNames = (layers: number) =>
  Array.from({ length: 2 * layers }, (_, index) => `${index >> 1}.${index % 2 === 0 ? 'key' : 'value'}`);

const int64 = (values: number[], dims: number[]) => new Tensor('int64', BigInt64Array.from(values, BigInt), dims);

/** `capacity` 0 is for a graph without a past: one `append`, whose keys and values are dropped. */
export async function openSplitRunner(path: string, shape: RunnerShape, capacity: number): Promise<SequenceRunner> {
  const session = await InferenceSession.create(path, sessionOptions);
  let states = emptyStates(session);
  const cache = emptyCache(session, shape, capacity);
  return {
    async append(tokenIds) {
      const feeds: Record<string, Tensor> = {
        input_ids: int64(tokenIds, [1, tokenIds.length]),
        past_lens: int64([cache.length], [1]),
        last_index: int64([tokenIds.length - 1], [1]),
        wanted_ids: int64([0], [1, 1]),
        ...states,
      };
      // The past of layers with a window begins with the first token: nothing is dropped.
      if (session.inputNames.includes('window_starts')) feeds.window_starts = int64([0], [1]);
      for (const { name, heads, size, buffer } of cache.pasts) {
        feeds[name] = new Tensor('float32', buffer, [1, heads, capacity, size]);
      }
      const outputs = await session.run(feeds);
      states = Object.fromEntries(
        Object.keys(states).map((name) => [name, tensor(outputs[name.replace('past_', 'new_')])]),
      );
      if (outputs.new_kv) scatter(cache, outputs.new_kv, tokenIds.length);
      else cache.length += tokenIds.length;
      return {
        logits: floats(outputs.logits),
        top: { values: floats(outputs.topk_values), ids: integers(outputs.topk_ids) },
        logSumExp: floats(outputs.lse)[0],
      };
    },
    release: () => session.release(),
  };
}

/** States before the first token. */
function emptyStates(session: InferenceSession): Record<string, Tensor> {
  const states = session.inputMetadata.flatMap((input) =>
    input.isTensor && input.name.startsWith('past_states.') ? [input] : [],
  );
  return Object.fromEntries(
    states.map(({ name, shape: [, ...sizes] }) => {
      const dims = sizes.map(Number);
      const count = productOf(dims);
      return [name, new Tensor('float32', new Float32Array(count), [1, ...dims])];
    }),
  );
}

/** Layers that do not attend have a state instead, those that attend to latents one cache. */
function emptyCache(session: InferenceSession, { keyValueHeads, headSize }: RunnerShape, capacity: number): SplitCache {
  const pasts = session.inputMetadata.flatMap((input) => {
    if (!input.isTensor || !input.name.startsWith('past_key_values.')) return [];
    const [, heads = 0, , size = 0] = input.shape.map((dimension) => Number(dimension) || 0);
    const sizes = { heads: heads || keyValueHeads, size: size || headSize };
    return [{ name: input.name, ...sizes, buffer: new Float32Array(sizes.heads * capacity * sizes.size) }];
  });
  return { length: 0, capacity, pasts };
}

/** New positions may have zeros behind the heads of a layer and their values. */
function scatter(cache: SplitCache, fresh: Tensor, count: number): void {
  const { capacity, length } = cache;
  if (capacity === 0) return;
  const [, , freshHeads = 0, , freshSize = 0] = fresh.dims;
  const values = floats(fresh);
  cache.pasts.forEach(({ heads, size, buffer }, index) => {
    for (let row = 0; row < heads * count; row++) {
      const [head, step] = [Math.floor(row / count), row % count];
      const from = ((index * freshHeads + head) * count + step) * freshSize;
      buffer.set(values.subarray(from, from + size), (head * capacity + length + step) * size);
    }
  });
  cache.length += count;
}

/** Supports the plain layout and GroupQueryAttention exports, in float32 and float16. */
export async function openConcatRunner(path: string, shape: RunnerShape): Promise<SequenceRunner> {
  const session = await InferenceSession.create(path, sessionOptions);
  const { layers, keyValueHeads, headSize, vocabularySize } = shape;
  const half = session.inputMetadata.some((input) => input.isTensor && input.type === 'float16');
  const emptyCache = () =>
    new Tensor(half ? 'float16' : 'float32', half ? new Uint16Array(0) : new Float32Array(0), [
      1,
      keyValueHeads,
      0,
      headSize,
    ]);
  let cache: Record<string, Tensor> = Object.fromEntries(
    cacheNames(layers).map((name) => [`past_key_values.${name}`, emptyCache()]),
  );
  let length = 0;
  return {
    async append(tokenIds) {
      const total = length + tokenIds.length;
      const feeds: Record<string, Tensor> = {
        ...cache,
        input_ids: int64(tokenIds, [1, tokenIds.length]),
        attention_mask: int64(new Array<number>(total).fill(1), [1, total]),
      };
      const positions = tokenIds.map((_, index) => length + index);
      if (session.inputNames.includes('position_ids')) feeds.position_ids = int64(positions, [1, tokenIds.length]);
      const outputs = await session.run(feeds);
      cache = Object.fromEntries(
        cacheNames(layers).map((name) => [`past_key_values.${name}`, tensor(outputs[`present.${name}`])]),
      );
      length = total;
      return { logits: floats(outputs.logits).slice(-vocabularySize) };
    },
    release: () => session.release(),
  };
}

function tensor(value: Tensor | undefined): Tensor {
  if (!value) throw new Error('The graph lacks an output.');
  return value;
}

function floats(value: Tensor | undefined): Float32Array {
  const { data, type } = tensor(value);
  if (data instanceof Float32Array) return data;
  if (type !== 'float16') throw new Error(`Expected floats, found ${type}.`);
  const bits = new Uint16Array((data as Uint16Array).buffer, (data as Uint16Array).byteOffset, data.length);
  return Float32Array.from(bits, halfToNumber);
}

function halfToNumber(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 1023;
  const magnitude = exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15);
  return bits >> 15 ? -magnitude : magnitude;
}

function integers(value: Tensor | undefined): number[] {
  return Array.from(tensor(value).data as BigInt64Array, Number);
}
