import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { productOf } from '#common/values';
import { PlatformError } from '#common';
import { softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { buildTinyModel, type TinyDtype } from '#test/tiny-models';
import { BindingSession } from './binding-session.js';
import { DeviceSession } from './c-api/device-session.js';
import { floatsOf } from './float-tensor.js';
import type { GraphSession, GraphTensor, TensorData, TensorType } from './graph-session.js';
import { providersUnderTest } from './providers.conformance.js';
import type { SessionOptions } from './session-options.js';

/* What every session does alike: that of the package, and that of the C API on the processor and on a device. */

type Open = (options: SessionOptions) => Promise<GraphSession>;

const onCpu = { provider: 'cpu', providerNote: null };
const reference: Open = (options) => BindingSession.open(options, onCpu);
const sessions: [string, Open][] = [
  ['the binding', reference],
  ...providersUnderTest().map((provider): [string, Open] => [
    `the C API on ${provider}`,
    (options) => DeviceSession.open(options, { provider, providerNote: null }),
  ]),
];

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-sessions-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function graphOf(dtype: TinyDtype, externalData = false): Promise<SessionOptions> {
  const home = join(folder, `${dtype}-${externalData}`);
  const { graphFile } = await buildTinyModel(home, { dtype, externalData });
  return { modelPath: join(home, graphFile), intraOpThreads: 1 };
}

const arrays: Record<string, (count: number) => TensorData> = {
  int64: (count) => BigInt64Array.from({ length: count }, (_, index) => BigInt(index % 2)),
  int32: (count) => Int32Array.from({ length: count }, (_, index) => index % 2),
  float32: (count) => Float32Array.from({ length: count }, (_, index) => Math.sin(index)),
};

/** One token after one position, for a batch of one. */
function feedsOf(session: GraphSession): Record<string, GraphTensor> {
  return Object.fromEntries(
    session.inputs.map(({ name, type, shape }) => {
      const dims = shape.map((size) => (typeof size === 'number' ? size : 1));
      const count = productOf(dims);
      return [name, session.tensor(type as TensorType, arrays[type]?.(count) ?? new Float32Array(count), dims)];
    }),
  );
}

describe.each(sessions)('a graph in %s', softwareGpuTimeouts, (_name, open) => {
  let session: GraphSession;
  let expected: GraphSession;
  // Opened once: a device compiles its programs anew for each session.
  beforeAll(async () => {
    const graph = await graphOf('float32');
    [session, expected] = [await open(graph), await reference(graph)];
  });
  afterAll(async () => {
    await session.release();
    await expected.release();
  });

  it('has its inputs and outputs', () => {
    expect([session.inputs, session.outputs]).toEqual([expected.inputs, expected.outputs]);
    expect(session.inputs.length).toBeGreaterThan(2);
  });

  it('computes the same, run after run, and returns what is fetched', async () => {
    const fetches = session.outputs.map(({ name }) => name);
    const wanted = await expected.run(feedsOf(expected), fetches);
    for (let run = 0; run < 3; run += 1) {
      const found = await session.run(feedsOf(session), fetches);
      expect(Object.keys(found)).toEqual(fetches);
      for (const name of fetches) {
        const [one, other] = [found[name] as GraphTensor, wanted[name] as GraphTensor];
        expect([one.type, one.dims]).toEqual([other.type, other.dims]);
        const [left, right] = [one, other].map((tensor) => Array.from(tensor.data as Float32Array, Number));
        left?.forEach((value, index) => expect(value).toBeCloseTo(right?.[index] ?? Number.NaN, 4));
      }
    }
    expect(Object.keys(await session.run(feedsOf(session), ['lse']))).toEqual(['lse']);
  });

  it('runs one after the other what is asked at once', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => session.run(feedsOf(session), ['lse'])));
    const [first] = runs;
    for (const run of runs) expect(run['lse']?.data).toEqual(first?.['lse']?.data);
  });

  it('says why a run failed, and runs on', async () => {
    const wrong = { ...feedsOf(session), past_lens: session.tensor('float32', new Float32Array(1), [1]) };
    const failure = await session.run(wrong, ['lse']).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'INFERENCE_FAILED', message: 'The service failed to answer this request.' });
    expect((failure as PlatformError).reason).toMatch(/past_lens|tensor/i);
    await expect(session.run(feedsOf(session), ['no-such-output'])).rejects.toThrow(PlatformError);
    expect((await session.run(feedsOf(session), ['lse']))['lse']?.dims).toBeDefined();
  });

  it('is refused if it is broken, with the text of the runtime', async () => {
    const { modelPath } = await graphOf('float32');
    const model = (await readFile(modelPath)).subarray(0, 1_000);
    await expect(open({ modelPath, model, intraOpThreads: 1 })).rejects.toThrow(/./);
    await expect(open({ modelPath: join(folder, 'none.onnx'), intraOpThreads: 1 })).rejects.toThrow(/none\.onnx/);
  });

  it('is read from memory, with its weights beside the file that it stands for', async () => {
    const graph = await graphOf('float32', true);
    const inMemory = await open({ ...graph, model: await readFile(graph.modelPath) });
    const [found, wanted] = await Promise.all([inMemory, expected].map((each) => each.run(feedsOf(each), ['lse'])));
    expect(floatsOf(found?.['lse'])[0]).toBeCloseTo(floatsOf(wanted?.['lse'])[0] ?? Number.NaN, 4);
    await inMemory.release();
  });
});

describe('the C API', softwareGpuTimeouts, () => {
  it('leaves the event loop free during a run', async () => {
    const session = await DeviceSession.open(await graphOf('float32'), onCpu);
    let turns = 0;
    let isRunning = true;
    const turn = (): void => {
      turns += 1;
      if (isRunning) setImmediate(turn);
    };
    const run = session.run(feedsOf(session), ['lse']);
    setImmediate(turn);
    await run;
    isRunning = false;
    expect(turns).toBeGreaterThan(0);
    await session.release();
  });

  it('keeps no memory of runs, or of sessions that were released', async () => {
    const graph = await graphOf('float32');
    const runOften = async (cycles: number, runs: number): Promise<void> => {
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        const session = await DeviceSession.open(graph, onCpu);
        const feeds = feedsOf(session);
        for (let run = 0; run < runs; run += 1) await session.run(feeds, ['lse']);
        await session.release();
      }
    };
    await runOften(3, 200);
    const before = process.memoryUsage().rss;
    await runOften(20, 500);
    expect(process.memoryUsage().rss - before).toBeLessThan(48 * 2 ** 20);
  });

  it('refuses what was released', async () => {
    const session = await DeviceSession.open(await graphOf('float32'), onCpu);
    const feeds = feedsOf(session);
    await session.release();
    await session.release();
    await expect(session.run(feeds, ['lse'])).rejects.toMatchObject({ reason: 'the session was released' });
  });
});
