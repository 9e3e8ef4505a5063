import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import type { ModelManifest } from '#model-registry/manifest';
import { FakeGraphicsMemory } from '#test/fake-machine-memory';
import { buildTinyModel } from '#test/tiny-models';
import type { InstalledModel } from '../models-folder.js';
import { LocalMachineMemory } from './machine-memory.js';

const gibibyte = 2 ** 30;

let directory: string;
let manifest: ModelManifest;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'text-memory-'));
  manifest = await buildTinyModel(directory);
});
afterAll(() => rm(directory, { recursive: true }));

/** Memory of the tiny model with a cache of `cacheTokens`, on a machine with a budget. */
async function estimate(cacheTokens: number, budgetBytes: number): Promise<number> {
  const settings = [{ device: 'cpu', bytes: budgetBytes }];
  const graphics = new FakeGraphicsMemory(null);
  const machine = new LocalMachineMemory({ settings, providers: ['cpu'], graphics, mainBytes: 2 ** 40 });
  const slots = cacheTokens / 256;
  const model: InstalledModel = { manifest: { ...manifest, slots, cacheTokens }, directory, version: '1' };
  return (await machine.estimate(model)).cpu ?? 0;
}

describe('the memory of a text model', () => {
  it('has room for its whole cache before the first request', async () => {
    const [small, large] = [await estimate(2_560, 2 ** 40), await estimate(2_560_000, 2 ** 40)];
    expect(small).toBeGreaterThan(128 * mebibyte);
    // Two layers of two heads of 16, keys and values of 4 bytes, and a third of them as copies.
    const cacheBytes = 2_560_000 * 2 * 2 * 2 * 16 * 4;
    expect(large - small).toBeGreaterThan(cacheBytes);
  });

  it('is at most the budget, unless one request does not fit', async () => {
    expect(await estimate(2_560_000, 400 * mebibyte)).toBe(400 * mebibyte);
    expect(await estimate(2_560_000, mebibyte)).toBeGreaterThan(128 * mebibyte);
  });
});

describe('the memory of an encoder of long texts', () => {
  const config = { hidden_size: 1_024, intermediate_size: 4_096, num_attention_heads: 16 };

  it('fits a machine on which its longest text would not fit', async () => {
    const folder = join(directory, 'reranker');
    await mkdir(folder);
    await writeFile(join(folder, 'config.json'), JSON.stringify(config));
    const encoder = { ...manifest, family: 'cross-encoder', contextLength: 8_192 } as ModelManifest;
    const graphics = new FakeGraphicsMemory(null);
    const machine = new LocalMachineMemory({ settings: [], providers: ['cpu'], graphics, mainBytes: 14 * gibibyte });
    const { cpu = 0 } = await machine.estimate({ manifest: encoder, directory: folder, version: '1' });
    expect(cpu).toBeGreaterThan(128 * mebibyte);
    expect(cpu).toBeLessThan(gibibyte);
  });
});
