import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ggufText, joinGguf, shardGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import { quantizedGguf } from '#test/tiny-models/quantized-gguf';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { WeightsServer } from '#test/weights-server';
import { ggufTypes } from './convert/gguf/gguf-types.js';
import { draftManifest } from './draft-manifest.js';
import { silentReporter } from './pull/progress.js';
import { pullModels } from './pull/pull-models.js';

let folder: string;
let server: WeightsServer;
let gguf: Buffer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'draft-'));
  server = await WeightsServer.start();
  gguf = await ggufFile(tinyDecoder('llama', 1));
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

function withMetadata(content: Buffer, key: string, value: string): string {
  const parts = splitGguf(content);
  parts.metadata.set(key, ggufText(value));
  return joinGguf(parts).toString('latin1');
}

describe('draftManifest of a GGUF file', () => {
  it('keeps the precision of the file, and names no folder of this machine', async () => {
    await writeFile(join(folder, 'My Tiny.Q4.gguf'), gguf);
    const { manifest, facts } = await draftManifest(`file:${folder}/My Tiny.Q4.gguf`, {});
    expect(manifest).toMatchObject({
      id: 'my-tiny.q4',
      modelSource: 'file:My Tiny.Q4.gguf',
      sources: [{ uri: `file:${folder}/My Tiny.Q4.gguf`, files: [{ path: 'My Tiny.Q4.gguf', bytes: gguf.length }] }],
      converter: { kind: 'gguf', options: { weights: 'stored' } },
      capabilities: { quantization: 'not-available' },
      constraints: { temperature: { default: 1 }, top_p: { default: 1 } },
    });
    const { shape } = tinyDecoder('llama', 1);
    expect(facts.summary).toContain('llama, 0.1 M parameters, GGUF with F32; served as float32');
    expect(facts.decoder).toMatchObject({
      size: { cacheBytesPerToken: 8 * shape.layers * shape.keyValueHeads * shape.headSize, heads: shape.heads },
      use: { slots: 8, cacheTokens: 8 * shape.contextLength },
    });
  });

  it('names the model after the file, and shows the title', async () => {
    const parts = splitGguf(gguf);
    parts.metadata.set('general.name', ggufText('A Title'));
    await writeFile(join(folder, 'tiny.Q8_0.gguf'), joinGguf(parts));
    const { manifest } = await draftManifest(`file:${folder}`, {}, { id: undefined });
    expect(manifest).toMatchObject({ id: 'tiny.q8_0', name: 'A Title' });
  });

  it('takes another precision and context', async () => {
    await writeFile(join(folder, 'tiny.gguf'), gguf);
    const { manifest } = await draftManifest(`file:${folder}`, {}, { weights: 'int8', contextLength: 32 });
    expect(manifest).toMatchObject({ contextLength: 32, capabilities: { quantization: 'int8' } });
    expect(manifest.converter.options).toEqual({ weights: 'int8', contextLength: 32 });
  });

  it.each([
    ['Q4_1', 'int8'],
    ['Q8_0', 'int4'],
  ] as const)('says where %s is rounded a second time', async (name, rounded) => {
    await writeFile(
      join(folder, 'tiny.gguf'),
      quantizedGguf(gguf, ggufTypes, (tensor) => (tensor.startsWith('blk.') ? name : undefined)),
    );
    const rounding = async (weights?: 'int4' | 'int8' | 'float32') =>
      (await draftManifest(`file:${folder}`, {}, { weights })).facts.rounding ?? '';
    expect(await rounding(rounded)).toContain(`rounded a second time: ${name} to ${rounded}`);
    expect(await rounding('float32')).toBe('');
    expect(await rounding()).toBe('');
    if (name === 'Q8_0') expect(await rounding('int8')).toBe('');
  });

  it('serves each layer in the precision of its tensor', async () => {
    const mixed = quantizedGguf(gguf, ggufTypes, (tensor) => {
      if (!tensor.startsWith('blk.')) return undefined;
      return tensor.includes('ffn_down') ? 'Q8_0' : 'Q4_0';
    });
    await writeFile(join(folder, 'tiny.gguf'), mixed);
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    expect(manifest.converter.options?.weights).toBe('stored');
    expect(manifest.capabilities.quantization).toBe('int4');
    expect(facts.summary).toMatch(/served as int4, int8\b(?!, float32)/);
    expect(facts.rounding).toBeUndefined();
    const narrow = await draftManifest(`file:${folder}`, {}, { weights: 'int4' });
    expect(narrow.facts.rounding).toContain('rounded a second time: Q8_0 to int4');
  });

  it('reads only the header of a file on the hub', async () => {
    const large = Buffer.concat([gguf, Buffer.alloc(8_000_000)]);
    server.addRepository('team/tiny-gguf', 'c'.repeat(40), { 'tiny.Q8_0.gguf': large, 'README.md': Buffer.from('#') });
    const { manifest } = await draftManifest('hf:team/tiny-gguf', { hubEndpoint: server.url });
    expect(manifest).toMatchObject({
      id: 'tiny.q8_0',
      modelSource: 'https://huggingface.co/team/tiny-gguf',
      sources: [
        { uri: `hf:team/tiny-gguf@${'c'.repeat(40)}`, files: [{ path: 'tiny.Q8_0.gguf', bytes: large.length }] },
      ],
    });
    const ranges = server.requestsOf(`/team/tiny-gguf/resolve/${'c'.repeat(40)}/tiny.Q8_0.gguf`);
    expect(ranges.map(({ range }) => range)).toEqual(['bytes=0-0', 'bytes=0-4194303']);
  });

  it('asks which of several files, and takes the named one', async () => {
    const files = { 'a.gguf': gguf, 'b.gguf': gguf };
    server.addRepository('team/both', 'd'.repeat(40), files);
    const settings = { hubEndpoint: server.url };
    await expect(draftManifest('hf:team/both', settings)).rejects.toThrow(
      'hf:team/both has several GGUF files; name one, as in hf:team/both:a.gguf. There are: a.gguf, b.gguf.',
    );
    await expect(draftManifest('hf:team/both:c.gguf', settings)).rejects.toThrow('has no file c.gguf. There are:');
    const { manifest } = await draftManifest('hf:team/both:b.gguf', settings);
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toEqual(['b.gguf']);
  });

  it('takes the file of a quantisation', async () => {
    const files = { 'tiny-q4_k_m.gguf': gguf, 'tiny-Q4_K_M_L.gguf': gguf, 'tiny-Q8_0.gguf': gguf, 'Q8_0/b.gguf': gguf };
    server.addRepository('team/many', 'd'.repeat(40), files);
    const settings = { hubEndpoint: server.url };
    const { manifest } = await draftManifest('hf:team/many:Q4_K_M', settings);
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toEqual(['tiny-q4_k_m.gguf']);
    for (const name of ['Q4', '.*']) {
      await expect(draftManifest(`hf:team/many:${name}`, settings)).rejects.toThrow(`has no file ${name}. There are:`);
    }
    await expect(draftManifest('hf:team/many:q8_0', settings)).rejects.toThrow(
      'has several files in q8_0; name one of them. There are: Q8_0/b.gguf, tiny-Q8_0.gguf.',
    );
  });

  it('takes Q4_K_M of several, as other runners do, and says so', async () => {
    const files = {
      'tiny-Q8_0.gguf': gguf,
      'tiny-Q4_K_M.gguf': gguf,
      'tiny-UD-Q4_K_M.gguf': gguf,
      'tiny-F16.gguf': gguf,
    };
    server.addRepository('team/several', 'd'.repeat(40), files);
    const { manifest, facts } = await draftManifest('hf:team/several', { hubEndpoint: server.url });
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toEqual(['tiny-Q4_K_M.gguf']);
    expect(facts.choice).toBe(
      'tiny-Q4_K_M was chosen; the source also has tiny-F16.gguf and 2 more. Name one as in hf:team/several:tiny-F16.gguf',
    );
    const named = await draftManifest('hf:team/several:UD-Q4_K_M', { hubEndpoint: server.url });
    expect(named.manifest.sources[0]?.files.map(({ path }) => path)).toEqual(['tiny-UD-Q4_K_M.gguf']);
    expect(named.facts.choice).toBeUndefined();
  });

  it.each(['mmproj-model-f16.gguf', 'tiny-mmproj-F16.gguf', 'imatrix_unsloth.gguf'])(
    'leaves %s beside the model aside',
    async (companion) => {
      await writeFile(join(folder, companion), 'no language model');
      await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(
        `${companion} belongs beside a model and is none`,
      );
      await writeFile(join(folder, 'tiny-F16.gguf'), gguf);
      const { manifest, facts } = await draftManifest(`file:${folder}`, {});
      expect(manifest.id).toBe('tiny-f16');
      expect(facts.choice).toBeUndefined();
      // The only one in F16 that is a model.
      expect((await draftManifest(`file:${folder}:F16`, {})).manifest.id).toBe('tiny-f16');
      await expect(draftManifest(`file:${folder}/${companion}`, {})).rejects.toThrow('belongs beside a model');
    },
  );

  it('takes a file of a folder by the name that its error gives', async () => {
    for (const name of ['a.gguf', 'b.Q8_0.gguf']) await writeFile(join(folder, name), gguf);
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(`name one, as in ${folder}:a.gguf.`);
    expect((await draftManifest(`file:${folder}:a.gguf`, {})).manifest.id).toBe('a');
    expect((await draftManifest(`file:${folder}:q8_0`, {})).manifest.id).toBe('b.q8_0');
    await expect(draftManifest(`file:${folder}:c.gguf`, {})).rejects.toThrow(
      'has no file c.gguf. There are: a.gguf, b.Q8_0',
    );
  });

  it.each([
    ['hf.co/team/tiny:UD-Q4_K_XL', 'hf:team/tiny:UD-Q4_K_XL'],
    ['https://huggingface.co/team/tiny', 'hf:team/tiny'],
    ['https://huggingface.co/team/tiny/tree/main', 'hf:team/tiny'],
    ['huggingface.co/team/tiny:tiny-UD-Q4_K_XL.gguf', 'hf:team/tiny:tiny-UD-Q4_K_XL.gguf'],
    [
      'https://huggingface.co/team/tiny/blob/main/tiny-UD-Q4_K_XL.gguf?download=true',
      'hf:team/tiny:tiny-UD-Q4_K_XL.gguf',
    ],
  ])('takes a source as people paste it: %s', async (pasted, uri) => {
    const commit = 'd'.repeat(40);
    server.addRepository('team/tiny', commit, { 'tiny-UD-Q4_K_XL.gguf': gguf, 'mmproj-F16.gguf': Buffer.from('none') });
    const { manifest } = await draftManifest(pasted, { hubEndpoint: server.url });
    const { manifest: same } = await draftManifest(uri, { hubEndpoint: server.url });
    expect(manifest).toMatchObject({
      id: 'tiny-ud-q4_k_xl',
      modelSource: 'https://huggingface.co/team/tiny',
      sources: [{ uri: `hf:team/tiny@${commit}`, files: [{ path: 'tiny-UD-Q4_K_XL.gguf' }] }],
    });
    expect(manifest.sources).toEqual(same.sources);
  });

  it('takes what Ollama has downloaded, by its blob and by its manifest', async () => {
    const digest = createHash('sha256').update(gguf).digest('hex');
    const blob = join(folder, 'models/blobs', `sha256-${digest}`);
    const tags = join(folder, 'models/manifests/registry.ollama.ai/library/tiny');
    for (const path of [join(folder, 'models/blobs'), tags]) await mkdir(path, { recursive: true });
    await writeFile(blob, gguf);
    const layers = [
      { mediaType: 'application/vnd.ollama.image.template', digest: `sha256:${'0'.repeat(64)}` },
      { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${digest}` },
    ];
    await writeFile(join(tags, '1b'), JSON.stringify({ schemaVersion: 2, layers }));
    const { manifest } = await draftManifest(`file:${join(tags, '1b')}`, {});
    expect(manifest).toMatchObject({
      id: 'tiny-1b',
      sources: [{ uri: `file:${blob}`, files: [{ path: `sha256-${digest}`, as: 'model.gguf', bytes: gguf.length }] }],
    });
    expect((await draftManifest(`file:${blob}`, {})).manifest.sources).toEqual(manifest.sources);
    const home = join(folder, 'home');
    expect(await pullModels({ home, manifests: [manifest], reporter: silentReporter })).toMatchObject([
      { modelId: 'tiny-1b', status: 'installed' },
    ]);
    await rm(blob);
    await expect(draftManifest(`file:${join(tags, '1b')}`, {})).rejects.toThrow('no folder blobs above it holds them');
    await writeFile(join(folder, 'notes'), 'a text');
    await expect(draftManifest(`file:${join(folder, 'notes')}`, {})).rejects.toThrow(
      'neither a folder, nor a GGUF file',
    );
  });

  it.each(['', '/big-00002-of-00003.gguf'])('takes all shards of a model on this disk: %s', async (named) => {
    const shards = shardGguf(gguf, 'big', 3);
    for (const [name, content] of Object.entries(shards)) await writeFile(join(folder, name), content);
    const { manifest, facts } = await draftManifest(`file:${folder}${named}`, {});
    const files = Object.entries(shards).map(([path, { length }]) => ({ path, bytes: length }));
    expect(manifest).toMatchObject({ id: 'big', sources: [{ uri: `file:${folder}`, files }] });
    expect(facts.summary).toContain('0.1 M parameters');
    await rm(join(folder, 'big-00003-of-00003.gguf'));
    await expect(draftManifest(`file:${folder}${named}`, {})).rejects.toThrow('big-00003-of-00003.gguf is missing');
  });

  it('takes all shards of a model on the hub, in one folder', async () => {
    const shards = Object.entries(shardGguf(gguf, 'Q8/big', 2));
    server.addRepository('team/split', 'e'.repeat(40), { 'small.gguf': gguf, ...Object.fromEntries(shards) });
    const { manifest } = await draftManifest('hf:team/split:Q8/big-00001-of-00002.gguf', { hubEndpoint: server.url });
    const files = shards.map(([path, { length }]) => ({ path, as: path.slice(3), bytes: length }));
    expect(manifest).toMatchObject({ id: 'big', sources: [{ uri: `hf:team/split@${'e'.repeat(40)}`, files }] });
  });

  it('says what a folder lacks', async () => {
    const draft = draftManifest(`file:${folder}`, {});
    await expect(draft).rejects.toThrow(`${folder} holds no graph such as onnx/model_q4.onnx`);
    await writeFile(join(folder, 'model.safetensors'), '');
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow('holds safetensors without a config.json');
    await writeFile(join(folder, 'model-00001-of-00002.gguf'), gguf);
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow('is one part of a split model');
    await expect(draftManifest(`file:${folder}/none.gguf`, {})).rejects.toThrow('There is no file or folder');
  });

  it('drafts a folder in the transformers.js layout', async () => {
    const inner = join(folder, 'tiny-chat');
    await mkdir(join(inner, 'onnx'), { recursive: true });
    await writeFile(join(inner, 'config.json'), JSON.stringify({ architectures: ['LlamaForCausalLM'] }));
    await writeFile(join(inner, 'onnx', 'model_q4.onnx'), 'graph');
    await writeFile(join(inner, 'notes.md'), '#');
    const { manifest } = await draftManifest(`file:${inner}`, {});
    expect(manifest).toMatchObject({ id: 'tiny-chat', graphFile: 'onnx/model_q4.onnx', traits: { instruct: 20 } });
    expect(manifest.sources[0]?.files.map(({ path }) => path).sort()).toEqual(['config.json', 'onnx/model_q4.onnx']);
  });

  it.each([
    ['another architecture', (content: Buffer) => content.toString('latin1').replaceAll('llama', 'lllma')],
    ['a file cut short', (content: Buffer) => content.subarray(0, 300).toString('latin1')],
    ['no GGUF at all', () => 'a text'],
    ['a template that is no Jinja', (content: Buffer) => withMetadata(content, 'tokenizer.chat_template', '{% if %}')],
    ['an unknown rule of words', (content: Buffer) => withMetadata(content, 'tokenizer.ggml.model', 'other')],
  ])('names file and reason for %s', async (_, change) => {
    await writeFile(join(folder, 'bad.gguf'), Buffer.from(change(gguf), 'latin1'));
    await expect(draftManifest(`file:${folder}/bad.gguf`, {})).rejects.toThrow(/bad\.gguf/);
  });
});
