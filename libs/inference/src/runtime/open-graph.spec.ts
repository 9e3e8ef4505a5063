import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { productOf } from '#common/values';
import { PlatformError } from '#common';
import { buildTinyModel } from '#test/tiny-models';
import { BindingSession, isProviderOfBuild } from './binding-session.js';
import { OrtApi, OrtApiUnavailable } from './c-api/ort-api.js';
import type { GraphSession, GraphTensor } from './graph-session.js';
import { openGraph } from './open-graph.js';

let folder = '';
let modelPath = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-graph-'));
  modelPath = join(folder, (await buildTinyModel(folder)).graphFile);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function emptyFeeds(session: GraphSession): Record<string, GraphTensor> {
  return Object.fromEntries(
    session.inputs.map(({ name, type, shape }) => {
      const dims = shape.map((size) => (typeof size === 'number' ? size : 1));
      const count = productOf(dims);
      const data = type === 'int64' ? new BigInt64Array(count) : new Float32Array(count);
      return [name, session.tensor(type === 'int64' ? 'int64' : 'float32', data, dims)];
    }),
  );
}

describe('openGraph', () => {
  it('describes inputs and outputs by name, type and shape', async () => {
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    expect(session.inputs).toContainEqual({ name: 'past_lens', type: 'int64', shape: ['batch'] });
    expect(session.outputs.map(({ name }) => name)).toContain('new_kv');
    expect([session.provider, session.providerNote]).toEqual(['cpu', null]);
    await session.release();
  });

  it('falls back in order and reports why each provider was skipped', async () => {
    const providers = ['no-such-provider', 'cpu'];
    const session = await openGraph({ modelPath, providers, intraOpThreads: 1 });
    expect(session.provider).toBe('cpu');
    expect(session.providerNote).toBe('no-such-provider skipped: not part of this build');
    await session.release();
  });

  it('uses the binding on a device where the C API is missing, and says so', async () => {
    const open = vi.spyOn(OrtApi, 'open').mockImplementation(() => {
      throw new OrtApiUnavailable('koffi cannot be loaded: no library');
    });
    const binding = vi.spyOn(BindingSession, 'open').mockImplementation(async (_options, chosen) => {
      return { ...chosen } as BindingSession;
    });
    const session = await openGraph({ modelPath, providers: ['nowhere', 'webgpu', 'cpu'], intraOpThreads: 1 });
    expect([session.provider, session.providerNote]).toEqual([
      'webgpu',
      'nowhere skipped: not part of this build; ' +
        'webgpu blocks the host while it works: koffi cannot be loaded: no library',
    ]);
    open.mockRestore();
    binding.mockRestore();
  });

  it.runIf(isProviderOfBuild('cuda'))('runs CUDA through the binding, which knows how to add it', async () => {
    const viaCApi = vi.spyOn(OrtApi, 'open');
    const binding = vi.spyOn(BindingSession, 'open').mockImplementation(async (_options, chosen) => {
      return { ...chosen } as BindingSession;
    });
    const session = await openGraph({ modelPath, providers: ['cuda', 'cpu'], intraOpThreads: 1 });
    expect([session.provider, session.providerNote]).toEqual(['cuda', null]);
    expect(viaCApi).not.toHaveBeenCalled();
    viaCApi.mockRestore();
    binding.mockRestore();
  });

  it('fails if no listed provider works, and does not fall back to a CPU that is not listed', async () => {
    const opened = openGraph({ modelPath, providers: ['no-such-provider'], intraOpThreads: 1 });
    await expect(opened).rejects.toMatchObject({
      code: 'INFERENCE_FAILED',
      message:
        "The model's graph could not be loaded (no-such-provider skipped: not part of this build; " +
        'cpu is not among the providers).',
    });
  });

  it('reports that a graph could not be loaded without revealing its path', async () => {
    const broken = join(folder, 'broken.onnx');
    await writeFile(broken, (await readFile(modelPath)).subarray(0, 1000));
    for (const path of [broken, join(folder, 'missing.onnx')]) {
      const failed = openGraph({ modelPath: path, providers: ['cpu'], intraOpThreads: 1 });
      await expect(failed).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
      await expect(failed).rejects.not.toThrow(folder);
    }
  });

  it('says why a run failed, for the log and across processes, and nothing about it to clients', async () => {
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    const tokens = session.tensor('float32', new Float32Array(1), [1]);
    const feeds = Object.fromEntries(session.inputs.map(({ name }) => [name, tokens]));
    const failure = await session.run(feeds, ['lse']).catch((error: unknown) => error as PlatformError);
    expect(failure).toMatchObject({ code: 'INFERENCE_FAILED', message: 'The service failed to answer this request.' });
    const { reason } = PlatformError.fromWire((failure as PlatformError).toWire());
    expect(reason).toMatch(/tensor/i);
    await session.release();
  });

  it('returns only the fetched outputs', async () => {
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    expect(Object.keys(await session.run(emptyFeeds(session), ['lse']))).toEqual(['lse']);
    await session.release();
  });

  it('leaves outputs that are never fetched out of the graph, which would keep them', async () => {
    const all = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1, outputs: ['lse'] });
    expect(session.outputs.map(({ name }) => name)).toEqual(['lse']);
    const [whole, reduced] = await Promise.all([all, session].map((each) => each.run(emptyFeeds(each), ['lse'])));
    expect(reduced?.['lse']?.data).toEqual(whole?.['lse']?.data);
    await all.release();
    await session.release();
  });
});

describe('the version of onnxruntime-node', () => {
  // Later versions copy every input on every run. The cache is an input, so the time of a step would grow with the
  // cache. Before an upgrade, run the tests of "the work of a step" and the benchmark with long contexts.
  it('is exactly 1.30.0, the last version that reads inputs in place', async () => {
    const require = createRequire(import.meta.url);
    const manifest: unknown = JSON.parse(await readFile(require.resolve('onnxruntime-node/package.json'), 'utf8'));
    expect(manifest).toMatchObject({ version: '1.30.0' });
  });
});
