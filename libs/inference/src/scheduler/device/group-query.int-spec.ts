import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { encodeFloat16Array } from '#common';
import { bytesOf, GraphBuilder, writeOnnxModel } from '#model-store';
import { type FloatCacheType, groupQueryKernel } from '#model-store/device';
import { runsInHalfFloats, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { DeviceSession } from '../../runtime/c-api/device-session.js';
import { floatsOf } from '../../runtime/float-tensor.js';
import { providersUnderTest } from '../../runtime/providers.conformance.js';

/*
 * The kernels of GroupQueryAttention against attention computed here, and against the table of what they take: where a
 * release of the runtime changes it, the table changes too.
 */

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-gqa-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const [heads, keyValueHeads, capacity, scale] = [4, 2, 40, 0.3];
const sinkScores = [0.5, -1, 1, 2];

interface Attention {
  headSize: number;
  /** Pairs of a head that rotate. */
  pairs: number;
  interleaved?: true;
  window?: number;
  softCap?: number;
  sinks?: true;
  /** The type of inputs, cache and result; default: float32. */
  type?: FloatCacheType;
}

const plain: Attention = { headSize: 32, pairs: 16 };

/** Rows by their positions before the run, and the tokens that each of them reads. */
interface Call {
  pasts: number[];
  tokens: number;
}

const calls: Call[] = [
  { pasts: [3, 30, 11], tokens: 1 },
  { pasts: [12], tokens: 5 },
  { pasts: [0], tokens: 25 },
];

/** Writes the operator with the attributes of an attention. */
async function writeAttention(attention: Attention): Promise<string> {
  const { headSize, pairs, interleaved, window, softCap, sinks, type = 'float32' } = attention;
  const builder = new GraphBuilder('attention');
  builder.input('query', type, ['batch', 'seq', heads * headSize]);
  for (const name of ['key', 'value']) builder.input(name, type, ['batch', 'seq', keyValueHeads * headSize]);
  const cache = ['batch', keyValueHeads, 'capacity', headSize];
  for (const name of ['past_key', 'past_value']) builder.input(name, type, cache);
  builder.input('last', 'int32', ['batch']);
  builder.input('total', 'int32', [1]);
  const table = (wave: (angle: number) => number) => () =>
    bytesOf(
      numbersOf(
        type,
        Float32Array.from({ length: capacity * pairs }, (_, at) => wave(angle(Math.floor(at / pairs), at % pairs))),
      ),
    );
  const tables = ['cosines', 'sines'];
  builder.weight('cosines', type, [capacity, pairs], table(Math.cos));
  builder.weight('sines', type, [capacity, pairs], table(Math.sin));
  if (sinks) builder.weight('sinks', type, [heads], () => bytesOf(numbersOf(type, Float32Array.from(sinkScores))));
  const required = ['query', 'key', 'value', 'past_key', 'past_value', 'last', 'total'];
  const inputs = [...required, ...(pairs > 0 ? tables : ['', '']), ...(sinks ? ['', '', 'sinks'] : [])];
  builder.contribNodeWithOutputs('GroupQueryAttention', inputs, ['y', 'present_key', 'present_value'], {
    num_heads: heads,
    kv_num_heads: keyValueHeads,
    scale: { float: scale },
    ...(pairs > 0 && { do_rotary: 1, rotary_interleaved: interleaved ? 1 : 0 }),
    ...(window !== undefined && { local_window_size: window }),
    ...(softCap !== undefined && { softcap: { float: softCap } }),
  });
  builder.output('y', type, ['batch', 'seq', heads * headSize]);
  for (const name of ['present_key', 'present_value']) builder.output(name, type, cache);
  const fileName = `${JSON.stringify(attention).replaceAll(/\W+/g, '-')}.onnx`;
  await writeOnnxModel(builder.build(), { folder, fileName });
  return join(folder, fileName);
}

function numbersOf(type: FloatCacheType, values: Float32Array): Float32Array | Uint16Array {
  return type === 'float16' ? encodeFloat16Array(values) : values;
}

const angle = (position: number, pair: number): number => position / (1 + pair);

/** The values of one head at a position, from -1.5 to 1.5. */
function valuesOf(seed: number, row: number, position: number, head: number, size: number): number[] {
  return Array.from({ length: size }, (_, index) => {
    const wave =
      Math.sin(seed * 12.9898 + (((row * 100 + position) * 8 + head) * size + index) * 78.233) * 43_758.545_3;
    return 3 * (wave - Math.floor(wave)) - 1.5;
  });
}
const [querySeed, keySeed, valueSeed] = [1, 2, 3];

function rotated(values: number[], position: number, { pairs, interleaved }: Attention): number[] {
  const turned = [...values];
  for (let pair = 0; pair < pairs; pair += 1) {
    const [one, other] = interleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + pairs];
    const [cosine, sine] = [Math.cos(angle(position, pair)), Math.sin(angle(position, pair))];
    const [x = 0, y = 0] = [values[one], values[other]];
    [turned[one], turned[other]] = [x * cosine - y * sine, y * cosine + x * sine];
  }
  return turned;
}

/** Returns the attention of a head of a row at a position. */
function attendedAt(attention: Attention, row: number, position: number, head: number): number[] {
  const { headSize, window = Infinity, softCap, sinks } = attention;
  const group = Math.floor(head / (heads / keyValueHeads));
  const query = rotated(valuesOf(querySeed, row, position, head, headSize), position, attention);
  const sum = new Array<number>(headSize).fill(0);
  let total = sinks ? Math.exp(sinkScores[head] ?? 0) : 0;
  for (let seen = Math.max(0, position - window + 1); seen <= position; seen += 1) {
    const key = rotated(valuesOf(keySeed, row, seen, group, headSize), seen, attention);
    const product = scale * key.reduce((whole, value, index) => whole + value * (query[index] ?? 0), 0);
    const weight = Math.exp(softCap === undefined ? product : softCap * Math.tanh(product / softCap));
    total += weight;
    valuesOf(valueSeed, row, seen, group, headSize).forEach((value, index) => {
      sum[index] = (sum[index] ?? 0) + weight * value;
    });
  }
  return sum.map((value) => value / total);
}

function range<Item>(length: number, item: (index: number) => Item): Item[] {
  return Array.from({ length }, (_, index) => item(index));
}

/** Runs the operator and returns its largest difference from attention computed here; rejects with the runtime's reason. */
async function distanceOf(session: DeviceSession, attention: Attention, { pasts, tokens }: Call): Promise<number> {
  const { headSize, type = 'float32' } = attention;
  const rows = pasts.length;
  const positions = pasts.flatMap((past, row) => range(tokens, (token) => ({ row, position: past + token })));
  const fresh = (seed: number, count: number) => {
    const data = positions.flatMap(({ row, position }) =>
      range(count, (head) => valuesOf(seed, row, position, head, headSize)).flat(),
    );
    return session.tensor(type, numbersOf(type, Float32Array.from(data)), [rows, tokens, count * headSize]);
  };
  const past = (seed: number) => {
    const data = pasts.map((length, row) =>
      range(keyValueHeads, (head) =>
        range(capacity, (position) => {
          const values = valuesOf(seed, row, position, head, headSize);
          if (position >= length) return values.fill(0);
          return seed === keySeed ? rotated(values, position, attention) : values;
        }),
      ),
    );
    const values = numbersOf(type, Float32Array.from(data.flat(3)));
    return session.tensor(type, values, [rows, keyValueHeads, capacity, headSize]);
  };
  const feeds = {
    query: fresh(querySeed, heads),
    key: fresh(keySeed, keyValueHeads),
    value: fresh(valueSeed, keyValueHeads),
    past_key: past(keySeed),
    past_value: past(valueSeed),
    last: session.tensor(
      'int32',
      Int32Array.from(pasts, (length) => length + tokens - 1),
      [rows],
    ),
    total: session.tensor('int32', Int32Array.of(Math.max(...pasts) + tokens), [1]),
  };
  const outputs = await session.run(feeds, ['y', 'present_key', 'present_value']).catch((error: unknown) => {
    throw new Error((error as { reason?: string }).reason, { cause: error });
  });
  const found = floatsOf(outputs['y']);
  const wanted = positions.flatMap(({ row, position }) =>
    range(heads, (head) => attendedAt(attention, row, position, head)).flat(),
  );
  expect(found.length).toBe(wanted.length);
  return wanted.reduce((most, value, index) => Math.max(most, Math.abs(value - (found[index] ?? NaN))), 0);
}

const providers = providersUnderTest();

describe.each(providers)('GroupQueryAttention on %s', softwareGpuTimeouts, (provider) => {
  const open = async (attention: Attention): Promise<DeviceSession> => {
    const options = { modelPath: await writeAttention(attention), intraOpThreads: 1 };
    return await DeviceSession.open(options, { provider, providerNote: null });
  };

  const forms: [string, Omit<Attention, 'headSize'>][] = [
    ['no rotation', { pairs: 0 }],
    ['whole heads that rotate', { pairs: 16 }],
    ['halves that rotate', { pairs: 8 }],
    ['halves that rotate by neighbors', { pairs: 8, interleaved: true }],
    ['a window', { pairs: 16, window: 7 }],
    ['sinks', { pairs: 0, sinks: true }],
    ['a window and sinks', { pairs: 8, window: 7, sinks: true }],
  ];

  it.each(forms)('computes attention with %s', async (_, more) => {
    const attention = { headSize: 32, ...more };
    const session = await open(attention);
    for (const call of calls) expect(await distanceOf(session, attention, call)).toBeLessThan(1e-5);
    await session.release();
  });

  it.each(provider === 'cpu' || runsInHalfFloats ? forms : [])(
    'computes attention in half floats, but for their rounding, with %s',
    async (_, more) => {
      const attention: Attention = { headSize: 32, ...more, type: 'float16' };
      const session = await open(attention);
      for (const call of calls) {
        const distance = await distanceOf(session, attention, call);
        expect(distance).toBeGreaterThan(0);
        expect(distance).toBeLessThan(2 ** -7);
      }
      await session.release();
    },
  );

  it('caps scores as the table says', async () => {
    const attention = { ...plain, softCap: 2, window: 7 };
    const session = await open(attention);
    const distances: number[] = [];
    for (const call of calls) distances.push(await distanceOf(session, attention, call));
    const isRight = Math.max(...distances) < 1e-5;
    expect(isRight).toBe(groupQueryKernel.softCaps.includes(provider));
    // The attribute is ignored, not rounded.
    if (!isRight) expect(Math.min(...distances)).toBeGreaterThan(0.1);
    await session.release();
  });

  it.each([4, 8, 12, 16, 24, 32])('takes %i rotated pairs as the table says', async (pairs) => {
    const attention = { headSize: 64, pairs };
    const session = await open(attention);
    const run = distanceOf(session, attention, { pasts: [3], tokens: 1 });
    if (pairs % groupQueryKernel.rotatedPairs === 0) expect(await run).toBeLessThan(1e-5);
    else await expect(run).rejects.toThrow(/cos_cache dimension 1 must be/);
    await session.release();
  });

  it.each([8, 12, 16, 20])('takes heads of %i values as the table says', async (headSize) => {
    const attention = { headSize, pairs: 0 };
    const session = await open(attention);
    const run = distanceOf(session, attention, { pasts: [3], tokens: 1 });
    if (headSize % groupQueryKernel.headSizes === 0) expect(await run).toBeLessThan(1e-5);
    else await expect(run).rejects.toThrow(/head_size must be a multiple of 8/);
    await session.release();
  });

  it('takes several rows, or several tokens of one row, and not both', async () => {
    const session = await open(plain);
    await distanceOf(session, plain, { pasts: [3, 3, 3], tokens: 1 });
    await distanceOf(session, plain, { pasts: [3], tokens: 4 });
    const both = distanceOf(session, plain, { pasts: [3, 3, 3], tokens: 4 });
    await expect(both).rejects.toThrow(/batch_size must be 1/);
    await session.release();
  });
});
