import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddingFixtures } from '#test/drafted-model';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { tinyBertFolder } from '#test/tiny-encoder';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { tinyVisionGgufFolder, tinyVisionGgufNames } from '#test/tiny-vision-models';
import { WeightsServer } from '#test/weights-server';
import { filesBelow } from '../files-below.js';
import type { CatalogEntry } from './catalog.js';
import { checkCatalogEntry } from './check-entry.js';

const mattingFixtures = new URL('../../../inference/src/families/matting/__fixtures__/', import.meta.url);
const commit = 'b'.repeat(40);
const decoder: CatalogEntry = {
  id: 'tiny',
  name: 'Tiny',
  purpose: 'chat',
  about: 'A model of the tests.',
  source: 'hf:owner/tiny',
  license: 'MIT',
  architecture: 'llama',
  parameters: 0.000135,
  weights: 'float32',
  context: 256,
  cache: [2, 2, 16],
  sampling: { temperature: 0.7, top_p: 0.9 },
  tested: 'none',
};

describe('an entry of the catalog', () => {
  let hub: WeightsServer;
  let folder: string;
  beforeAll(async () => {
    hub = await WeightsServer.start();
    folder = await mkdtemp(join(tmpdir(), 'catalog-'));
    await copyTinyDecoder('qwen3', folder);
    hub.addRepository('owner/folder', commit, await filesOf(folder));
    hub.addRepository('owner/encoder', commit, await filesOf(fileURLToPath(tinyBertFolder)));
    hub.addRepository(
      'owner/embedding',
      commit,
      await filesOf(fileURLToPath(new URL('tiny-qwen3-embedding/', embeddingFixtures))),
    );
    hub.addRepository('owner/vision', commit, await filesOf(tinyVisionGgufFolder(tinyVisionGgufNames[0] ?? '')));
    hub.addRepository('owner/matting', commit, {
      'config.json': Buffer.from('{"model_type":"birefnet"}'),
      'preprocessor_config.json': Buffer.from('{"image_mean":[0.5,0.5,0.5],"image_std":[1,1,1]}'),
      'onnx/model.onnx': await readFile(new URL('birefnet.onnx', mattingFixtures)),
    });
    hub.addRepository('owner/tiny', commit, { 'tiny-F32.gguf': await ggufFile(tinyDecoder('llama', 1)) });
  });
  afterAll(async () => {
    await hub.close();
    await rm(folder, { recursive: true });
  });

  async function filesOf(path: string): Promise<Record<string, Buffer>> {
    const files = (await filesBelow(path)).map(async (name) => [name, await readFile(join(path, name))] as const);
    return Object.fromEntries(await Promise.all(files));
  }

  const check = (change: Partial<CatalogEntry>) =>
    checkCatalogEntry({ ...decoder, ...change }, { hubEndpoint: hub.url });

  it('is as its source, and listed with commit, files and sizes', async () => {
    const { revision, files, problems } = await check({});
    expect(problems).toEqual([]);
    expect(revision).toBe(commit);
    expect(files).toMatchObject([{ path: 'tiny-F32.gguf', bytes: expect.any(Number) as number }]);
    expect(files[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('may be a model that reads images, or a network that removes backgrounds', async () => {
    const source = 'hf:owner/vision';
    for (const purpose of ['vision', 'chat'] as const) {
      const { problems } = await check({ source, purpose });
      expect(problems.filter((problem) => problem.startsWith('purpose'))).toEqual([]);
    }
    const matting = { source: 'hf:owner/matting', purpose: 'inpaint', architecture: 'birefnet' } as const;
    expect((await check(matting)).problems).toEqual([]);
  });

  it.each<[string, Partial<CatalogEntry>, string[]]>([
    ['a model that reads no images', { purpose: 'vision' }, ['purpose is text, not vision']],
    ['another architecture', { architecture: 'qwen3' }, ['architecture is llama, not qwen3']],
    ['another context', { context: 4096 }, ['context is 256, not 4096']],
    ['other heads', { cache: [2, 4, 16] }, ['cache bytes per token is 512, not 1024']],
    ['other weights', { weights: 'int4' }, ['weights is float32, not int4']],
    ['another size', { parameters: 1 }, ['parameters are 0.000135 B, not 1 B']],
    [
      'another sampling',
      { source: 'hf:owner/folder', sampling: { temperature: 1, top_p: 0.9 } },
      ['temperature is 0.7'],
    ],
    ['another kind', { source: 'hf:owner/encoder', purpose: 'rerank' }, ['kind is encoder, not cross-encoder']],
    ['an embedding model', { source: 'hf:owner/embedding' }, ['purpose is embedding, not text']],
    ['a missing file', { source: 'hf:owner/tiny:Q4_K_M' }, ['Q4_K_M']],
    ['a missing repository', { source: 'hf:owner/none' }, ['hf:owner/none@main does not exist']],
  ])('says where it differs: %s', async (_name, change, problems) => {
    const found = (await check(change)).problems.join('\n');
    for (const problem of problems) expect(found).toContain(problem);
  });
});
