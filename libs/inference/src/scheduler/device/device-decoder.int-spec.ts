import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CacheScales, type FloatCacheType, graphForDevice, groupQueryKernel } from '#model-store/device';
import { isFull } from '#test/extent';
import { logitDistance } from '#test/expected-logits';
import { hasSoftwareGpu, runsInHalfFloats, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { calibrateScales } from '../../evaluation/cache-scales.js';
import { DeviceSession } from '../../runtime/c-api/device-session.js';
import { takesHalfCaches } from '../../runtime/c-api/half-floats.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { providersUnderTest } from '../../runtime/providers.conformance.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import { BatchScheduler } from '../batch-scheduler.js';
import type { CacheRow, Decoder } from '../decoder.js';
import { openDecoder } from '../open-decoder.js';
import { RecordingListener, sequenceRequest } from '../recording-listener.js';
import { openSplit } from './resident.conformance.js';

/* The cache on the device: the same texts as the split graph on the processor, and what crosses the bus for them. */

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-device-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const providers = providersUnderTest();

async function build(options: TinyModelOptions) {
  const home = join(folder, `${options.shape ?? 'llama'}-${options.dtype ?? 'float32'}`);
  const { graphFile } = await buildTinyModel(home, options);
  return { home, graphFile, modelPath: join(home, graphFile), intraOpThreads: 1 };
}

type Built = Awaited<ReturnType<typeof build>>;

/** Opens the graph of the converter for a device without half floats, with its cache in place or plain. */
async function openOn(
  provider: string,
  { home, graphFile, ...options }: Built,
  cacheInPlace = true,
  cacheType: FloatCacheType = 'float32',
): Promise<DeviceSession> {
  const changed = await graphForDevice(
    { folder: home, graphFile },
    { takesHalfFloats: false, cacheInPlaceOn: cacheInPlace ? provider : null, cacheType },
  );
  const graph = { ...options, ...(changed !== null && { model: changed.model }) };
  const isWhole = cacheInPlace && provider !== 'cpu';
  return await DeviceSession.open({ ...graph, isWhole }, { provider, providerNote: null });
}

const promptOf = (length: number, first: number): number[] =>
  Array.from({ length }, (_, index) => 260 + ((first * 31 + index * 17) % 170));

/** Texts that join while others run, leave one after the other, and begin with the prompts of others. */
async function textsOf(session: GraphSession): Promise<number[][]> {
  const decoder = openDecoder(session, { slots: 4 });
  const scheduler = new BatchScheduler({ decoder, slots: 4, contextLength: 256, cacheTokens: 2048 });
  let count = 0;
  const ask = async (prompt: number[], maxNewTokens: number): Promise<number[]> => {
    const listener = new RecordingListener(() => undefined);
    scheduler.submit(sequenceRequest({ id: `s${(count += 1)}`, prompt, listener, maxNewTokens }));
    await listener.done;
    expect(listener.failure).toBeNull();
    return listener.tokens;
  };
  const alone = await ask(promptOf(70, 1), 6);
  const together = await Promise.all([
    ask([...promptOf(66, 1), 300, 301], 12),
    ask(promptOf(9, 2), 3),
    ask(promptOf(5, 3), 9),
    ask(promptOf(20, 4), 5),
    ask([...promptOf(20, 4), 302], 4),
  ]);
  await scheduler.close();
  return [alone, ...together];
}

/** All logits, where rows come and go in ways that a scheduler seldom orders. */
async function logitsOf(session: GraphSession): Promise<number[][]> {
  const decoder = openDecoder(session, { slots: 4 });
  const found: number[][] = [];
  const note = ({ logits, rowIndexes, vocabularySize }: LogitsBatch): void => {
    for (const row of rowIndexes) {
      found.push([...(logits ?? []).slice(row * vocabularySize, (row + 1) * vocabularySize)]);
    }
  };
  const rows: CacheRow[] = [];
  for (const length of [5, 40, 9]) {
    const row = decoder.openRow();
    note(await decoder.prefill([{ row, tokenIds: Int32Array.from(promptOf(length, length)), final: true }], 'full'));
    rows.push(row);
  }
  const step = async () =>
    note(
      await decoder.decode(
        rows.map((row) => ({ row, tokenId: 300 })),
        'full',
      ),
    );
  await step();
  await decoder.extend(rows[1] as CacheRow, Int32Array.from(promptOf(40, 6)));
  await decoder.decode(
    rows.map((row) => ({ row, tokenId: 301 })),
    'top',
  );
  note(await decoder.repeatForLogits());
  decoder.release(rows.shift() as CacheRow, true);
  await step();
  decoder.release(decoder.retain(rows.shift() as CacheRow));
  await decoder.extend(rows[0] as CacheRow, Int32Array.from(promptOf(3, 6)));
  await step();
  await decoder.close();
  return found;
}

/** Bytes over the bus for the second token of a text and for a later one. */
async function bytesPerToken(session: DeviceSession, decoder: Decoder, tokens: number) {
  const row = decoder.openRow();
  await decoder.prefill([{ row, tokenIds: Int32Array.from(promptOf(4, 1)), final: true }], 'top');
  const step = async () => {
    const before = [session.bytesIn, session.bytesOut] as const;
    await decoder.decode([{ row, tokenId: 270 }], 'top');
    return { bytesIn: session.bytesIn - before[0], bytesOut: session.bytesOut - before[1] };
  };
  await step();
  const first = await step();
  for (let token = 0; token < tokens; token += 1) await step();
  const last = await step();
  await decoder.close();
  return { first, last };
}

describe.each(providers)('a decoder on %s with its cache in place', softwareGpuTimeouts, (provider) => {
  it.each([
    { shape: 'llama', reference: 'cpu' },
    { shape: 'window', reference: 'cpu' },
    // Whole architectures of these run at night too.
    ...(isFull
      ? ([
          { shape: 'qwen', reference: 'cpu' },
          { shape: 'phi', reference: 'cpu' },
        ] as const)
      : []),
    ...(groupQueryKernel.softCaps.includes(provider) ? [{ shape: 'capped', reference: 'cpu' } as const] : []),
    // Kernels of codes round differently on the processor.
    { shape: 'llama', dtype: 'int8', reference: provider },
    { shape: 'llama', dtype: 'int8-channel', reference: provider },
  ] as const)('writes the texts of the split graph: $shape $dtype', async ({ reference, ...options }) => {
    const built = await build(options);
    const plain = await openOn(reference, built, false);
    expect(openDecoder(plain, { slots: 4 }).kind).toBe(reference === 'cpu' ? 'split' : 'device');
    const expected = await textsOf(plain);
    const session = await openOn(provider, built);
    expect(openDecoder(session, { slots: 4 }).kind).toBe('device');
    expect(await textsOf(session)).toEqual(expected);
  });

  it('returns the logits of the split graph for forced tokens, for all of a step, and beside a row that left tainted', async () => {
    const built = await build({});
    const [plain, inPlace] = [await openOn('cpu', built, false), await openOn(provider, built)];
    const [expected, found] = [await logitsOf(plain), await logitsOf(inPlace)];
    expect(found.length).toBe(expected.length);
    found.forEach((logits, index) => {
      logits.forEach((value, token) => expect(value).toBeCloseTo(expected[index]?.[token] ?? Number.NaN, 3));
    });
  });

  it('moves the same few bytes for a token, however long the text is', async () => {
    const built = await build({});
    const tokens = 70;
    const session = await openOn(provider, built);
    const inPlace = await bytesPerToken(session, openDecoder(session, { slots: 1 }), tokens);
    const plain = await openOn(provider, built, false);
    const split = await bytesPerToken(plain, openSplit(plain), tokens);
    // Token, its place and a wanted token, two lengths; the 64 best with their ids, a sum and a wanted logit.
    const [bytesIn, bytesOut] = [3 * 8 + 2 * 4, 64 * (4 + 8) + 4 + 4];
    expect(inPlace).toEqual({ first: { bytesIn, bytesOut }, last: { bytesIn, bytesOut } });
    expect(split.first.bytesIn).toBeGreaterThan(100 * bytesIn);
    expect(split.last.bytesIn).toBeGreaterThan(split.first.bytesIn);
  });

  it('takes no more memory with every step', async () => {
    const decoder = openDecoder(await openOn(provider, await build({})), { slots: 2 });
    const row = decoder.openRow();
    await decoder.prefill([{ row, tokenIds: Int32Array.from(promptOf(4, 1)), final: true }], 'top');
    const stay = [{ row, tokenId: 270, sitsOut: true }];
    const run = async (steps: number): Promise<void> => {
      for (let step = 0; step < steps; step += 1) await decoder.decode(stay, 'top');
    };
    const steps = provider === 'cpu' ? 10_000 : 40;
    await run(steps / 10);
    const before = process.memoryUsage();
    await run(steps);
    const after = process.memoryUsage();
    expect(after.arrayBuffers + after.external - before.arrayBuffers - before.external).toBeLessThan(2 ** 20);
    expect(after.rss - before.rss).toBeLessThan(24 * 2 ** 20);
    await decoder.close();
  });
});

const providersWithHalfFloats = providers.filter((provider) => provider === 'cpu' || runsInHalfFloats);

/* Where no device has half floats, the processor's kernel and copies stand for it. */
describe.each(providersWithHalfFloats)('a cache of half floats on %s', softwareGpuTimeouts, (provider) => {
  it.each(['llama', 'window'] as const)(
    'writes the texts of the split graph, over copies of its rows: %s',
    async (shape) => {
      const built = await build({ shape });
      const expected = await textsOf(await openOn('cpu', built, false));
      const session = await openOn(provider, built, true, 'float16');
      const caches = [...session.inputs, ...session.outputs].filter(({ name }) =>
        /^(?:past_key_values|present)\./.test(name),
      );
      expect(new Set(caches.map(({ type }) => type))).toEqual(new Set(['float16']));
      expect(await textsOf(session)).toEqual(expected);
    },
  );

  it('is chosen, because attention to one, and copies of it, are right', async () => {
    expect(await takesHalfCaches(provider)).toBe(true);
  });
});

it.each(hasSoftwareGpu && !runsInHalfFloats ? ['webgpu'] : [])(
  'a cache of half floats is not chosen on %s without them',
  async (provider) => {
    expect(await takesHalfCaches(provider)).toBe(false);
  },
);

/* The processor's kernel computes with integers; those of devices are not used. */
describe('a cache of 8-bit integers', () => {
  const openInBits = async ({ home, graphFile, ...options }: Built, cacheScales: CacheScales[]) => {
    const wanted = { takesHalfFloats: false, cacheInPlaceOn: 'cpu', cacheScales };
    const changed = await graphForDevice({ folder: home, graphFile }, wanted);
    return await DeviceSession.open({ ...options, model: changed?.model }, { provider: 'cpu', providerNote: null });
  };

  it.each(['tensor', 'channel'] as const)(
    'returns logits near those of floats, also over copies of its rows: scales per %s',
    async (kind) => {
      const built = await build({});
      const plain = await openOn('cpu', built, false);
      // Every token of the prompts, behind others: what is larger than in this text is cut off.
      const calibration = Int32Array.from({ length: 240 }, (_, index) => 260 + ((index * 37) % 170));
      const session = await openInBits(built, await calibrateScales(plain, calibration, kind));
      const caches = [...session.inputs, ...session.outputs].filter(({ name }) => /^(?:past|present)/.test(name));
      expect(new Set(caches.map(({ type }) => type))).toEqual(new Set(['int8']));
      const [expected, found] = [await logitsOf(plain), await logitsOf(session)];
      expect(found.length).toBe(expected.length);
      const largest = Math.max(...expected.flat().map(Math.abs));
      const distances = found.map((logits, index) => logitDistance(Float32Array.from(logits), expected[index] ?? []));
      expect(Math.max(...distances)).toBeGreaterThan(0);
      expect(Math.max(...distances) / largest).toBeLessThan(0.05);
    },
  );

  it('takes one scale, or one per value of a head', async () => {
    const scales = { keys: new Float32Array(3), values: new Float32Array(3) };
    await expect(openInBits(await build({}), [scales, scales])).rejects.toThrow(/layer 0 has 3 scales/);
  });
});

it('is refused in part where a part would run on the processor', softwareGpuTimeouts, async () => {
  const { modelPath, intraOpThreads } = await build({});
  const options = { modelPath, intraOpThreads, isWhole: true };
  const open = DeviceSession.open(options, { provider: 'webgpu', providerNote: null });
  if (!hasSoftwareGpu) return await expect(open).rejects.toThrow(/./);
  await expect(open).rejects.toThrow(/CPU EP/);
});
