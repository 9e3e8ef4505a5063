import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { WeightsServer } from '#test/weights-server';
import { convertModel } from './convert/index.js';
import { draftManifest } from './draft-manifest.js';
import { silentReporter } from './pull/progress.js';
import { pullModels } from './pull/pull-models.js';

let folder: string;
let server: WeightsServer;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'draft-')), 'Tiny-Chat');
  server = await WeightsServer.start();
});
afterEach(async () => {
  await server.close();
  await rm(join(folder, '..'), { recursive: true });
});

async function filesOf(name: string): Promise<Record<string, Buffer>> {
  await copyTinyDecoder(name, folder);
  const names = await readdir(folder);
  return Object.fromEntries(await Promise.all(names.map(async (each) => [each, await readFile(join(folder, each))])));
}

const checkpointFiles = [
  'chat_template.jinja',
  'config.json',
  'generation_config.json',
  'model-00001-of-00002.safetensors',
  'model-00002-of-00002.safetensors',
  'model.safetensors.index.json',
  'tokenizer.json',
  'tokenizer_config.json',
];

describe('draftManifest of safetensors', () => {
  it('keeps the precision of the files and the sampling of their authors', async () => {
    await filesOf('llama');
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    expect(manifest).toMatchObject({
      id: 'tiny-chat',
      modelSource: 'file:Tiny-Chat',
      converter: { kind: 'safetensors', options: { weights: 'stored', contextLength: 256 } },
      capabilities: { quantization: 'not-available' },
      constraints: { temperature: { default: 0.7 }, top_p: { default: 1 } },
      contextLength: 256,
      traits: { instruct: 20 },
    });
    const files = manifest.sources[0]?.files ?? [];
    expect(files.map(({ path }) => path)).toEqual(checkpointFiles);
    for (const { path, bytes } of files) expect(bytes).toBe((await stat(join(folder, path))).size);
    expect(facts.summary).toBe('llama, 0.0 M parameters, safetensors with BF16; served as float32');
    // Nothing is tied: all weights in float32, and the rotary tables.
    expect(facts.weightsBytes).toBe(4 * 34_720 + 4 * 8 * 256);
    expect(facts.decoder?.size.cacheBytesPerToken).toBe(8 * 2 * 2 * 8);
  });

  it('takes other weights and another context', async () => {
    await filesOf('qwen3');
    const { manifest } = await draftManifest(`file:${folder}`, {}, { weights: 'int4', contextLength: 64 });
    expect(manifest).toMatchObject({ contextLength: 64, capabilities: { quantization: 'int4' } });
    expect(manifest.converter.options).toEqual({ weights: 'int4', contextLength: 64 });
  });

  it.each([
    ...['llama', 'qwen3', 'gemma2', 'llama-awq', 'qwen2-gptq'],
    // With layers and towers that are stored and not computed.
    ...['glm4-moe', 'ernie4.5-moe', 'ministral3'],
    ...['deepseek-v2-lite', 'deepseek-v3', 'deepseek-v3.2', 'glm4-moe-lite'],
    ...['gemma3n', 'gemma3n-sees', 'bamba', 'mamba2'],
  ])('estimates the size of %s', async (name) => {
    await filesOf(name);
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    const outputFolder = await mkdtemp(join(folder, '..', 'out-'));
    const { options = {} } = manifest.converter;
    await convertModel({ kind: 'safetensors', options, inputFolder: folder, outputFolder });
    const { size } = await stat(join(outputFolder, 'model.onnx'));
    // The graph itself counts in so small a model.
    expect(size - facts.weightsBytes).toBeGreaterThan(0);
    expect(size - facts.weightsBytes).toBeLessThan(/moe|deepseek|gemma3n/.test(name) ? 90_000 : 30_000);
  });

  it('keeps the published 4 bits', async () => {
    await filesOf('llama-awq');
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    expect(manifest).toMatchObject({ capabilities: { quantization: 'int4' } });
    expect(manifest.converter.options).toEqual({ weights: 'stored', contextLength: 256 });
    expect(facts.summary).toMatch(/llama, 0\.0 M parameters, safetensors with .*AWQ 4-bit.*; served as int4/);
    // Embeddings and output layer are one table of floats.
    expect(facts.weightsBytes).toBeGreaterThan(4 * 300 * 64);
    expect(facts.weightsBytes).toBeLessThan(4 * 300 * 64 + 0.7 * 24_700 + 4 * 16 * 256 + 4 * 600);
  });

  it('reads configuration and headers of a repository only', async () => {
    const files = await filesOf('llama');
    const commit = 'c'.repeat(40);
    server.addRepository('team/Tiny-Chat', commit, {
      ...files,
      'README.md': Buffer.from('#'),
      'a.bin': Buffer.from('a'),
    });
    const { manifest, facts } = await draftManifest('hf:team/Tiny-Chat', { hubEndpoint: server.url });
    expect(manifest).toMatchObject({
      id: 'tiny-chat',
      modelSource: 'https://huggingface.co/team/Tiny-Chat',
      sources: [{ uri: `hf:team/Tiny-Chat@${commit}` }],
    });
    const wanted = manifest.sources[0]?.files ?? [];
    expect(wanted.map(({ path }) => path).toSorted()).toEqual(checkpointFiles);
    expect(wanted.find(({ path }) => path.startsWith('model-00002'))).toMatchObject({
      bytes: files['model-00002-of-00002.safetensors']?.length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(facts.summary).toContain('safetensors with BF16');
    const shard = `/team/Tiny-Chat/resolve/${commit}/model-00001-of-00002.safetensors`;
    const ranges = server.requestsOf(shard).map(({ range }) => range);
    const length = Number(files['model-00001-of-00002.safetensors']?.readBigUInt64LE());
    expect(ranges).toEqual(['bytes=0-0', 'bytes=0-7', `bytes=8-${7 + length}`]);
  });

  it('takes the shards that the index names, whatever they are called', async () => {
    const files = await filesOf('llama');
    const renamed = (name: string) => name.replace(/^model-(?=\d)/, 'model.safetensors-');
    const published = Object.entries(files).map(([name, content]) => [
      renamed(name),
      name.endsWith('.index.json')
        ? Buffer.from(content.toString('utf8').replaceAll('"model-0', '"model.safetensors-0'))
        : content,
    ]);
    const entries = Object.fromEntries(published) as Record<string, Buffer>;
    server.addRepository('team/Tiny-Chat', 'c'.repeat(40), entries);
    const { manifest } = await draftManifest('hf:team/Tiny-Chat', { hubEndpoint: server.url });
    const wanted = manifest.sources[0]?.files.map(({ path }) => path).toSorted();
    expect(wanted).toEqual(checkpointFiles.map(renamed).toSorted());
    const settings = { hubEndpoint: server.url };
    const home = join(folder, '..', 'home');
    const results = await pullModels({ home, manifests: [manifest], reporter: silentReporter, sources: settings });
    expect(results).toMatchObject([{ modelId: 'tiny-chat', status: 'installed' }]);
  });

  it('refuses a tokenizer with more tokens than the weights before the download', async () => {
    const files = await filesOf('mistral');
    const tokenizer = JSON.parse(String(files['tokenizer.json'])) as { model: { vocab: Record<string, number> } };
    tokenizer.model.vocab['more'] = 300;
    const changed = { ...files, 'tokenizer.json': Buffer.from(JSON.stringify(tokenizer)) };
    server.addRepository('team/larger', 'c'.repeat(40), changed);
    await expect(draftManifest('hf:team/larger', { hubEndpoint: server.url })).rejects.toThrow(
      'it has a token 300, and config.json and weights have 300 tokens',
    );
  });

  it('says what smaller weights would take', async () => {
    await filesOf('llama');
    const { facts } = await draftManifest(`file:${folder}`, {});
    const [int8, int4] = facts.smaller ?? [];
    expect([int8?.weights, int4?.weights]).toEqual(['int8', 'int4']);
    expect(int8?.size.weightsBytes).toBeLessThan(facts.decoder?.size.weightsBytes ?? 0);
    expect(int4?.size.weightsBytes).toBeLessThan(int8?.size.weightsBytes ?? 0);
    expect((await draftManifest(`file:${folder}`, {}, { weights: 'int8' })).facts.smaller).toBeUndefined();
  });

  it("takes a model of a hub's cache under its own name", async () => {
    const cache = join(folder, '..', 'models--team--Tiny-2B-Chat');
    const snapshot = join(cache, 'snapshots', 'c'.repeat(40));
    await mkdir(snapshot, { recursive: true });
    await copyTinyDecoder('llama', snapshot);
    for (const path of [cache, snapshot]) {
      const { manifest } = await draftManifest(`file:${path}`, {});
      expect(manifest).toMatchObject({ id: 'tiny-2b-chat', sources: [{ uri: `file:${snapshot}` }] });
    }
    await mkdir(join(cache, 'snapshots', 'd'.repeat(40)));
    await expect(draftManifest(`file:${cache}`, {})).rejects.toThrow('has several snapshots; name one, as in');
    await mkdir(join(cache, 'refs'));
    await writeFile(join(cache, 'refs', 'main'), 'c'.repeat(40));
    expect((await draftManifest(`file:${cache}`, {})).manifest.id).toBe('tiny-2b-chat');
  });

  it('prefers a GGUF file, and then a graph that runs as it is', async () => {
    await filesOf('qwen2');
    await writeFile(join(folder, 'model.onnx'), 'graph');
    expect((await draftManifest(`file:${folder}`, {})).manifest).toMatchObject({ graphFile: 'model.onnx' });
    await writeFile(join(folder, 'tiny.gguf'), 'no GGUF at all');
    await rm(join(folder, 'model.onnx'));
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow('tiny.gguf');
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['no tokenizer', () => rm(join(folder, 'tokenizer.json')), 'has no tokenizer.json; save the model'],
    ['no configuration', () => rm(join(folder, 'config.json')), 'holds safetensors without a config.json'],
    [
      'an adapter',
      async () => {
        await rm(join(folder, 'config.json'));
        await writeFile(join(folder, 'adapter_config.json'), '{}');
      },
      'adapter_config.json cannot be converted: its peft_type is missing; only LORA is served',
    ],
    [
      'another kind of model',
      () => writeFile(join(folder, 'config.json'), JSON.stringify({ architectures: ['WhisperModel'] })),
      'its architecture is WhisperModel; LlamaForCausalLM, ',
    ],
    [
      'a template that is no Jinja',
      () => writeFile(join(folder, 'chat_template.jinja'), '{% for message in %}'),
      'chat_template.jinja cannot be converted: its chat template cannot be read: ',
    ],
    [
      'a template that is no text',
      async () => {
        await rm(join(folder, 'chat_template.jinja'));
        await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify({ chat_template: { a: 1 } }));
      },
      'tokenizer_config.json cannot be converted: its chat template is no text',
    ],
    ['a shard cut short', () => writeFile(join(folder, 'model.safetensors'), 'short'), 'model.safetensors cannot be'],
  ])('says what a folder lacks: %s', async (_, change, reason) => {
    await filesOf('mistral');
    await change();
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(reason);
  });
});
