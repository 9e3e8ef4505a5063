import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { productOf } from '#common/values';
import { bytesOf, GraphBuilder, writeOnnxModel } from '#model-store';
import { groupQueryKernel } from '#model-store/device';
import { hasSoftwareGpu, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { DeviceSession } from '../../runtime/c-api/device-session.js';

/* The kernels of GroupQueryAttention and the table of what they take: where a release of the runtime changes it, the table changes too. */

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-gqa-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const [heads, keyValueHeads, headSize, positions] = [4, 2, 64, 16];

/** Writes one operator that rotates some pairs of a head. */
async function writeAttention(pairs: number): Promise<string> {
  const builder = new GraphBuilder('attention');
  builder.input('query', 'float32', ['batch', 'seq', heads * headSize]);
  for (const name of ['key', 'value']) builder.input(name, 'float32', ['batch', 'seq', keyValueHeads * headSize]);
  const cache = ['batch', keyValueHeads, 'capacity', headSize];
  for (const name of ['past_key', 'past_value']) builder.input(name, 'float32', cache);
  builder.input('last', 'int32', ['batch']);
  builder.input('total', 'int32', [1]);
  const table = (wave: (angle: number) => number) => () =>
    bytesOf(Float32Array.from({ length: positions * pairs }, (_, index) => wave(index / pairs)));
  builder.weight('cosines', 'float32', [positions, pairs], table(Math.cos));
  builder.weight('sines', 'float32', [positions, pairs], table(Math.sin));
  const inputs = ['query', 'key', 'value', 'past_key', 'past_value', 'last', 'total', 'cosines', 'sines'];
  const attributes = { num_heads: heads, kv_num_heads: keyValueHeads, do_rotary: 1 };
  builder.contribNodeWithOutputs('GroupQueryAttention', inputs, ['y', 'present_key', 'present_value'], attributes);
  builder.output('y', 'float32', ['batch', 'seq', heads * headSize]);
  for (const name of ['present_key', 'present_value']) builder.output(name, 'float32', cache);
  const fileName = `attention-${pairs}.onnx`;
  await writeOnnxModel(builder.build(), { folder, fileName });
  return join(folder, fileName);
}

interface Call {
  rows?: number;
  tokens?: number;
}

/** Runs the operator over a past of three positions; rejects with the reason of the runtime. */
async function attend(session: DeviceSession, { rows = 1, tokens = 1 }: Call): Promise<void> {
  const past = 3;
  const floats = (...dims: number[]) => {
    const data = new Float32Array(productOf(dims)).fill(0.5);
    return session.tensor('float32', data, dims);
  };
  const cache = () => floats(rows, keyValueHeads, positions, headSize);
  const feeds = {
    query: floats(rows, tokens, heads * headSize),
    key: floats(rows, tokens, keyValueHeads * headSize),
    value: floats(rows, tokens, keyValueHeads * headSize),
    past_key: cache(),
    past_value: cache(),
    last: session.tensor('int32', new Int32Array(rows).fill(past + tokens - 1), [rows]),
    total: session.tensor('int32', Int32Array.of(past + tokens), [1]),
  };
  try {
    await session.run(feeds, ['y', 'present_key', 'present_value']);
  } catch (error) {
    throw new Error((error as { reason?: string }).reason, { cause: error });
  }
}

const providers = ['cpu', ...(hasSoftwareGpu ? ['webgpu'] : [])];

describe.each(providers)('GroupQueryAttention on %s', softwareGpuTimeouts, (provider) => {
  const open = async (pairs: number): Promise<DeviceSession> => {
    const options = { modelPath: await writeAttention(pairs), intraOpThreads: 1 };
    return await DeviceSession.open(options, { provider, providerNote: null });
  };

  it.each([4, 8, 12, 16, 24, 32])('takes %i rotated pairs as the table says', async (pairs) => {
    const session = await open(pairs);
    const run = attend(session, {});
    if (pairs % groupQueryKernel.rotatedPairs === 0) await run;
    else await expect(run).rejects.toThrow(/cos_cache dimension 1 must be/);
    await session.release();
  });

  it('takes several rows, or several tokens of one row, and not both', async () => {
    const session = await open(32);
    await attend(session, { rows: 3 });
    await attend(session, { tokens: 4 });
    await expect(attend(session, { rows: 3, tokens: 4 })).rejects.toThrow(/batch_size must be 1/);
    await session.release();
  });
});
