import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tinyAdapterFolder } from '#test/tiny-adapters';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { WeightsServer } from '#test/weights-server';
import { convertModel } from './convert/index.js';
import type { DraftOptions } from './draft.js';
import { draftManifest } from './draft-manifest.js';
import type { InstalledModel } from './installed-models.js';

describe('draftManifest of an adapter', () => {
  let root: string;
  let server: WeightsServer;
  const asked: (string | null)[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'draft-adapter-'));
    server = await WeightsServer.start();
    const [inputFolder, outputFolder] = [join(root, 'source'), join(root, 'llama')];
    for (const folder of [inputFolder, outputFolder]) await mkdir(folder);
    await copyTinyDecoder('llama', inputFolder);
    await convertModel({ kind: 'safetensors', options: {}, inputFolder, outputFolder });
  });
  afterAll(async () => {
    await server.close();
    await rm(root, { recursive: true });
  });

  /** The installed base, with the members that a draft reads. */
  const findBase: DraftOptions['findBase'] = (name) => {
    asked.push(name);
    const constraints = { temperature: { default: 0.7 }, top_p: { default: 0.9 } };
    const capabilities = { supportsLogProbs: true, quantization: 'int8' };
    const lengths = { contextLength: 200, maxCompletionTokens: 100 };
    const manifest = { id: 'llama', tier: 'M', capabilities, constraints, ...lengths };
    return Promise.resolve({ manifest, folder: join(root, 'llama') } as unknown as InstalledModel);
  };

  it('takes from its base what clients may ask, and from a repository only its two files', async () => {
    const names = ['adapter_config.json', 'adapter_model.safetensors'];
    const files = names.map(
      async (name) => [name, await readFile(join(tinyAdapterFolder('llama', 'some'), name))] as const,
    );
    const commit = 'd'.repeat(40);
    const all = { ...Object.fromEntries(await Promise.all(files)), 'README.md': Buffer.from('#') };
    server.addRepository('team/Tiny-LoRA', commit, all);
    const settings = { hubEndpoint: server.url };
    const { manifest, facts } = await draftManifest('hf:team/Tiny-LoRA', settings, { findBase, outputPriceUsd: 3 });
    expect(asked).toEqual(['tiny/llama']);
    expect(manifest).toMatchObject({
      id: 'tiny-lora',
      adapterOf: 'llama',
      tier: 'M',
      converter: { kind: 'lora' },
      contextLength: 200,
      maxCompletionTokens: 100,
      capabilities: { supportsLogProbs: true, quantization: 'int8' },
      constraints: { temperature: { default: 0.7 } },
      pricing: { output: { usd: 3 } },
      sources: [{ uri: `hf:team/Tiny-LoRA@${commit}` }],
    });
    expect(manifest.sources[0]?.files.map(({ path }) => path).toSorted()).toEqual(names);
    expect(facts.summary).toBe('LoRA of rank 8 on 2 linear layers of llama');
    // Queries and values of one layer, in float32.
    expect(facts.weightsBytes).toBe(4 * 8 * (32 + 32 + 32 + 16));
  });
});
