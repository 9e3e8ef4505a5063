import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { convertDrafted, embeddingFixtures, rerankerFixtures } from '#test/drafted-model';
import { WeightsServer } from '#test/weights-server';
import { convertModel } from './convert/index.js';
import type { ConversionOptions } from './convert/conversion.js';
import { draftManifest } from './draft-manifest.js';
import { filesBelow } from './files-below.js';

let home: string;
let server: WeightsServer;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'pooling-models-'));
  server = await WeightsServer.start();
});
afterEach(async () => {
  await server.close();
  await rm(home, { recursive: true });
});

/** Copies a fixture, whose files are changed where `changes` have others; null removes one. */
async function copyOf(
  fixture: URL,
  name: string,
  changes: Record<string, object | string | null> = {},
): Promise<string> {
  const folder = join(home, name);
  await cp(fixture, folder, { recursive: true });
  await rm(join(folder, 'reference.json'));
  for (const [path, content] of Object.entries(changes)) {
    const file = join(folder, path);
    await mkdir(join(file, '..'), { recursive: true });
    if (content === null) await rm(file, { recursive: true });
    else await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

const qwen = new URL('tiny-qwen3-embedding/', embeddingFixtures);
const reranker = new URL('tiny-qwen3-reranker/', rerankerFixtures);

async function configOf(fixture: URL): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(new URL('config.json', fixture), 'utf8')) as Record<string, unknown>;
}

describe('draftManifest of an embedding model that is a decoder', () => {
  it('says how it pools, and what its authors put in front of queries', async () => {
    const folder = await copyOf(qwen, 'Qwen3-Embedding');
    const { manifest, facts } = await draftManifest(`file:${folder}`, {}, { weights: 'int8', matryoshka: [16, 8] });
    expect(manifest).toMatchObject({
      id: 'qwen3-embedding',
      type: 'embedding',
      family: 'text-embedding',
      familyOptions: {
        normalize: true,
        queryPrefix: 'Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:',
      },
      converter: {
        kind: 'safetensors',
        options: { weights: 'int8', contextLength: 256, purpose: 'embedding', pooling: 'last' },
      },
      capabilities: { quantization: 'int8' },
      kindMembers: {
        embeddingDimensions: 32,
        maxInputTokens: 256,
        supportsCustomDimensions: true,
        matryoshkaDimensions: [16, 8],
      },
    });
    expect(manifest).not.toHaveProperty('traits');
    expect(facts.summary).toBe('qwen3, safetensors with F16; served as int8; embeddings, pooling last');
    expect(facts.decoder).toBeNull();
    const paths = manifest.sources[0]?.files.map(({ path }) => path);
    expect(paths).toEqual([
      '1_Pooling/config.json',
      'config.json',
      'config_sentence_transformers.json',
      'model.safetensors',
      'modules.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
  });

  it('is read from a hub before its weights are', async () => {
    const folder = await copyOf(qwen, 'source', { 'README.md': '# a page' });
    const files = (await filesBelow(folder)).map(async (path) => [path, await readFile(join(folder, path))] as const);
    server.addRepository('team/Tiny-Embedding', 'a'.repeat(40), Object.fromEntries(await Promise.all(files)));
    const { manifest } = await draftManifest('hf:team/Tiny-Embedding', { hubEndpoint: server.url });
    expect(manifest).toMatchObject({ type: 'embedding', converter: { options: { pooling: 'last' } } });
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toContain('1_Pooling/config.json');
    expect(manifest.sources[0]?.files.map(({ path }) => path)).not.toContain('README.md');
  });

  it('names the token that ends every text where the tokenizer does not add it', async () => {
    const { manifest } = await draftManifest(
      `file:${await copyOf(new URL('tiny-e5-mistral/', embeddingFixtures), 'e5')}`,
      {},
    );
    const queryPrefix = 'Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ';
    expect(manifest.familyOptions).toEqual({ normalize: true, queryPrefix, endToken: '</s>' });
  });

  it('needs no output layer that its settings promise, as the largest of its family', async () => {
    const config = { ...(await configOf(qwen)), tie_word_embeddings: false };
    const folder = await copyOf(qwen, 'untied', { 'config.json': config });
    const { manifest } = await draftManifest(`file:${folder}`, {});
    const outputFolder = await mkdtemp(join(home, 'out-'));
    const { options = {} } = manifest.converter;
    const { files } = await convertModel({ kind: 'safetensors', options, inputFolder: folder, outputFolder });
    expect(files).toContain('model.onnx');
    await expect(draftManifest(`file:${folder}`, {}, { purpose: 'text' })).rejects.toThrow(
      'it has no tensor lm_head.weight',
    );
  });

  it('asks how it pools where no file says it', async () => {
    const config = { ...(await configOf(qwen)), architectures: ['Qwen3Model'] };
    const folder = await copyOf(qwen, 'silent', { 'config.json': config, 'modules.json': null });
    await expect(draftManifest(`file:${folder}`, {})).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'pooling',
    });
    const { manifest } = await draftManifest(`file:${folder}`, {}, { pooling: 'mean' });
    expect(manifest.converter.options).toMatchObject({ purpose: 'embedding', pooling: 'mean' });
  });

  it('is a text model on request, and a text model is one on request', async () => {
    const folder = await copyOf(qwen, 'either');
    const text = await draftManifest(`file:${folder}`, {}, { purpose: 'text' });
    expect(text.manifest).toMatchObject({ type: 'text', family: 'decoder' });
    const odd = await copyOf(qwen, 'odd', { 'modules.json': '[{}]' });
    expect((await draftManifest(`file:${odd}`, {}, { purpose: 'text' })).manifest.type).toBe('text');
    const other = await copyOf(reranker, 'plain', { 'README.md': null });
    expect((await draftManifest(`file:${other}`, {})).manifest.type).toBe('text');
    expect((await draftManifest(`file:${other}`, {}, { pooling: 'last' })).manifest.type).toBe('embedding');
    await expect(draftManifest(`file:${other}`, {}, { purpose: 'text', pooling: 'last' })).rejects.toThrow(
      '--pooling is for embedding models',
    );
  });

  it('is told by its name in the folder of a cache, too', async () => {
    const snapshot = `models--owner--Tiny-Reranker/snapshots/${'0'.repeat(40)}`;
    const folder = await copyOf(reranker, snapshot, { 'README.md': null });
    const { manifest } = await draftManifest(`file:${folder}`, {});
    expect(manifest).toMatchObject({ id: 'tiny-reranker', type: 'rerank' });
  });

  it.each([
    [
      [
        { path: '', type: 'x.Transformer' },
        { path: '1_CNN', type: 'x.CNN' },
      ],
      'it has a module CNN',
    ],
    [
      [
        { path: '0_Transformer', type: 'x.Transformer' },
        { path: '1_Pooling', type: 'x.Pooling' },
      ],
      'its first module is no',
    ],
    [{}, 'it is no list'],
  ])('is refused for modules that are not computed: %j', async (modules, problem) => {
    const folder = await copyOf(qwen, 'other', { 'modules.json': modules });
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(problem);
  });

  it.each([
    [{ pooling_mode_weightedmean_tokens: true }, 'asks for pooling_mode_weightedmean_tokens'],
    [{ pooling_mode_mean_tokens: true, pooling_mode_cls_token: true }, 'asks for pooling_mode_mean_tokens and'],
    [{ pooling_mode_mean_tokens: true, include_prompt: false }, 'it leaves prompts out of the pooling'],
  ])('is refused for a pooling that is not computed: %j', async (pooling, problem) => {
    const folder = await copyOf(qwen, 'pooled', { '1_Pooling/config.json': pooling });
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(problem);
  });

  it('is refused as the graph of a decoder', async () => {
    const folder = await copyOf(qwen, 'graph', { 'model.safetensors': null, 'onnx/model.onnx': 'a graph' });
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow(
      'is an embedding model as the ONNX graph of a decoder; add its safetensors or a GGUF file instead.',
    );
  });
});

describe('draftManifest of a reranker that is a decoder', () => {
  const options = { contextLength: 768, purpose: 'rerank', weights: 'stored' };

  it.each<[string, Record<string, object | string | null>, object]>([
    ['by the task of its page', {}, options],
    ['by its name', { 'README.md': null }, options],
    [
      'by the module of its score',
      {
        'README.md': null,
        'modules.json': [
          { path: '', type: 'sentence_transformers.base.modules.transformer.Transformer' },
          { path: '1_LogitScore', type: 'sentence_transformers.cross_encoder.modules.logit_score.LogitScore' },
        ],
        '1_LogitScore/config.json': { true_token_id: 300, false_token_id: 299 },
      },
      { ...options, trueToken: 300, falseToken: 299 },
    ],
  ])('is found %s', async (_name, changes, converterOptions) => {
    const isNamed = changes['modules.json'] === undefined && changes['README.md'] === null;
    const folder = await copyOf(reranker, isNamed ? 'Qwen3-Reranker-0.6B' : 'model', changes);
    const { manifest } = await draftManifest(`file:${folder}`, {}, { inputPriceUsd: 0.5 });
    expect(manifest).toMatchObject({
      type: 'rerank',
      family: 'cross-encoder',
      familyOptions: { instruction: 'Given a web search query, retrieve relevant passages that answer the query' },
      kindMembers: { maxInputTokens: 768 },
      pricing: { input: { usd: 0.5, diem: 0.5 } },
    });
    expect(manifest.pricing).not.toHaveProperty('output');
    expect(manifest.converter).toEqual({ kind: 'safetensors', options: converterOptions });
  });

  it('is refused where its prompt is not known', async () => {
    const config = { ...(await configOf(reranker)), architectures: ['LlamaForCausalLM'] };
    const folder = await copyOf(reranker, 'other', { 'config.json': config });
    await expect(draftManifest(`file:${folder}`, {})).rejects.toThrow('is a reranker made of LlamaForCausalLM');
  });
});

describe('draftManifest of GGUF files that are no text models', () => {
  it('reads the prompt of a reranker', async () => {
    const { manifest } = await convertDrafted(new URL('gguf/tiny-qwen3-reranker.gguf', rerankerFixtures), home);
    expect(manifest).toMatchObject({ type: 'rerank', converter: { kind: 'gguf', options: { purpose: 'rerank' } } });
    expect(manifest.familyOptions).toMatchObject({
      template: expect.stringContaining(
        '<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}<|im_end|>',
      ) as string,
      instruction: 'Given a web search query, retrieve relevant passages that answer the query',
    });
  });

  it('serves an encoder in float32, and refuses other weights', async () => {
    const path = fileURLToPath(new URL('gguf/tiny-nomic-bert.gguf', embeddingFixtures));
    const { manifest, facts } = await draftManifest(`file:${path}`, {}, { contextLength: 100 });
    expect(manifest.kindMembers).toMatchObject({ embeddingDimensions: 32, maxInputTokens: 100 });
    expect(facts.summary).toBe('nomic-bert, GGUF with F16, F32; served as float32; embeddings, pooling mean');
    await expect(draftManifest(`file:${path}`, {}, { weights: 'int4' })).rejects.toThrow('--weights is for decoders');
    await expect(draftManifest(`file:${path}`, {}, { purpose: 'text' })).rejects.toThrow('is an encoder');
    const asked = await draftManifest(`file:${path}`, {}, { pooling: 'cls' });
    expect(asked.manifest.familyOptions).toMatchObject({ pooling: 'cls' });
  });
});

describe('draftManifest of a GGUF file without text, from where people have it', () => {
  const encoder = new URL('gguf/tiny-nomic-bert.gguf', embeddingFixtures);
  const embedder = new URL('gguf/tiny-qwen3-embedding.gguf', embeddingFixtures);

  it('names an encoder that Ollama has downloaded after its tag, and its blob after its title', async () => {
    const content = await readFile(encoder);
    const digest = createHash('sha256').update(content).digest('hex');
    const blob = join(home, 'models/blobs', `sha256-${digest}`);
    const tags = join(home, 'models/manifests/registry.ollama.ai/library/nomic-embed');
    for (const path of [join(home, 'models/blobs'), tags]) await mkdir(path, { recursive: true });
    await writeFile(blob, content);
    const layers = [{ mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${digest}` }];
    await writeFile(join(tags, 'v1'), JSON.stringify({ schemaVersion: 2, layers }));
    const { manifest } = await draftManifest(`file:${join(tags, 'v1')}`, {}, { pooling: 'cls' });
    expect(manifest).toMatchObject({
      id: 'nomic-embed-v1',
      type: 'embedding',
      familyOptions: { pooling: 'cls' },
      sources: [
        { uri: `file:${blob}`, files: [{ path: `sha256-${digest}`, as: 'model.gguf', bytes: content.length }] },
      ],
    });
    expect((await draftManifest(`file:${blob}`, {})).manifest.sources).toEqual(manifest.sources);
  });

  it.each([
    ['encoder', encoder, {}],
    ['decoder', embedder, { options: { weights: 'stored', purpose: 'embedding', pooling: 'mean' } }],
  ])('takes a file of a package, with its license, and a named one of a folder: %s', async (_kind, file, converter) => {
    const content = await readFile(file);
    await server.addPackage('tiny-embed', '1.0.0', {
      'package.json': Buffer.from('{"name":"tiny-embed","license":"MIT"}'),
      'weights/tiny-embed-Q4_K_M.gguf': content,
      'weights/tiny-embed-F16.gguf': content,
    });
    const settings = { npm: { registry: server.url } };
    const { manifest, facts } = await draftManifest('npm:tiny-embed@1.0.0', settings, { pooling: 'mean' });
    expect(manifest).toMatchObject({
      id: 'tiny-embed-q4_k_m',
      type: 'embedding',
      license: 'MIT',
      converter: { kind: 'gguf', ...converter },
      sources: [{ files: [{ path: 'weights/tiny-embed-Q4_K_M.gguf', as: 'tiny-embed-Q4_K_M.gguf' }] }],
    });
    expect(facts.choice).toContain('was chosen; the source also has weights/tiny-embed-F16.gguf');
    for (const name of ['tiny-Q4_K_M.gguf', 'tiny-F16.gguf']) await writeFile(join(home, name), content);
    const named = await draftManifest(`file:${home}:F16`, {}, { pooling: 'mean' });
    expect(named.manifest).toMatchObject({ id: 'tiny-f16', type: 'embedding' });
    expect(named.facts.choice).toBeUndefined();
  });

  it('takes what layers with a state hold as a text model only', async () => {
    const states = new URL('../../decoder/__fixtures__/architectures/lfm2.gguf', embeddingFixtures);
    const draft = draftManifest(`file:${fileURLToPath(states)}`, {}, { pooling: 'mean' });
    await expect(draft).rejects.toThrow('its architecture is lfm2, whose layers keep a state');
  });
});

describe('the converters of models without text', () => {
  async function convert(options: ConversionOptions): Promise<unknown> {
    const inputFolder = await copyOf(qwen, 'input');
    const outputFolder = await mkdtemp(join(home, 'out-'));
    return await convertModel({ kind: 'safetensors', options, inputFolder, outputFolder });
  }

  it.each<[ConversionOptions, string]>([
    [{ purpose: 'music' }, '`purpose` must be one of text, embedding, rerank'],
    [{ purpose: 'embedding', pooling: 'sum' }, '`pooling` must be one of mean, cls, last, max'],
    [{ pooling: 'mean' }, '`pooling` has no effect on a model with the purpose text'],
    [{ purpose: 'embedding', layout: 'concat' }, '`layout` has no effect'],
    [{ purpose: 'embedding', headWeights: 'int8' }, '`headWeights` has no effect'],
    [{ purpose: 'rerank', pooling: 'mean' }, '`pooling` has no effect'],
    [{ purpose: 'rerank', trueToken: 'perhaps' }, 'it has no token perhaps'],
    [{ purpose: 'rerank', trueToken: 9_999 }, 'it has no token 9999'],
    [{ purpose: 'rerank', trueToken: -1 }, '`trueToken` must be the text or the id of a token'],
  ])('refuse %j', async (options, problem) => {
    await expect(convert(options)).rejects.toThrow(problem);
  });
});
