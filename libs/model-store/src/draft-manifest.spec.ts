import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { embeddingFixtures, rerankerFixtures } from '#test/drafted-model';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { sha256, WeightsServer } from '#test/weights-server';
import { draftManifest } from './draft-manifest.js';

let server: WeightsServer;

beforeEach(async () => (server = await WeightsServer.start()));
afterEach(() => server.close());

const config = Buffer.from(JSON.stringify({ model_type: 'llama', max_position_embeddings: 131_072 }));
const graph = Buffer.from('a graph');

const modules = ['Transformer', 'Pooling'].map((kind, index) => {
  return { path: index === 0 ? '' : `${index}_${kind}`, type: `sentence_transformers.models.${kind}` };
});
const pooledFiles = {
  'modules.json': Buffer.from(JSON.stringify(modules)),
  '1_Pooling/config.json': Buffer.from(JSON.stringify({ pooling_mode_cls_token: true })),
};

/** The files of a tiny encoder, with other settings. */
async function encoderFiles(
  folder: URL,
  change: (config: Record<string, unknown>) => object,
): Promise<Record<string, Buffer>> {
  const names = (await readdir(folder)).filter(
    (name) => /\.(?:json|safetensors)$/.test(name) && name !== 'reference.json',
  );
  const files = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, folder))] as const)),
  );
  const settings = JSON.parse(String(files['config.json'])) as Record<string, unknown>;
  return { ...files, 'config.json': Buffer.from(JSON.stringify(change(settings))) };
}

describe('draftManifest', () => {
  it('pins a package by its SRI and every file by its sha256', async () => {
    const { integrity } = await server.addPackage('@team/tiny-onnx', '2.0.0', {
      'package.json': Buffer.from('{"name":"@team/tiny-onnx"}'),
      'config.json': config,
      'onnx/model_quantized.onnx': graph,
      'onnx/model.onnx': Buffer.from('a larger graph'),
      'index.js': Buffer.from('throw new Error("never run")'),
    });
    const { manifest } = await draftManifest('npm:@team/tiny-onnx@2.0.0', { npm: { registry: server.url } });
    expect(manifest).toMatchObject({
      id: 'tiny',
      graphFile: 'onnx/model_quantized.onnx',
      contextLength: 8_192,
      capabilities: { quantization: 'int8' },
      sources: [{ uri: 'npm:@team/tiny-onnx@2.0.0', integrity }],
    });
    const files = manifest.sources[0]?.files.toSorted((left, right) => left.path.localeCompare(right.path));
    expect(files).toEqual([
      { path: 'config.json', bytes: config.length, sha256: sha256(config) },
      { path: 'onnx/model_quantized.onnx', bytes: graph.length, sha256: sha256(graph) },
    ]);
  });

  it.each([
    [
      { temperature: 0.6, top_p: 0.9, repetition_penalty: 1.1 },
      { temperature: 0.6, top_p: 0.9, repetition_penalty: 1.1 },
    ],
    [
      { do_sample: false, temperature: 0.6 },
      { temperature: 0, top_p: 1 },
    ],
    [
      { temperature: null, eos_token_id: 2 },
      { temperature: 1, top_p: 1 },
    ],
    [null, { temperature: 1, top_p: 1 }],
  ])('uses the sampling of generation_config.json %j', async (generation, sampling) => {
    await server.addPackage('sampled', '1.0.0', {
      'config.json': config,
      'onnx/model.onnx': graph,
      ...(generation === null ? {} : { 'generation_config.json': Buffer.from(JSON.stringify(generation)) }),
    });
    const {
      manifest: { constraints },
    } = await draftManifest('npm:sampled@1.0.0', { npm: { registry: server.url } });
    const expected = Object.entries(sampling).map(([name, value]) => [name, { default: value }]);
    expect(constraints).toEqual(Object.fromEntries(expected));
  });

  it('uses the sampling of a hub repository', async () => {
    const generation = Buffer.from(JSON.stringify({ temperature: 0.6 }));
    const files = { 'config.json': config, 'generation_config.json': generation, 'onnx/model.onnx': graph };
    server.addRepository('team/tiny', 'c'.repeat(40), files);
    server.addRepository('team/plain', 'd'.repeat(40), { 'config.json': config, 'onnx/model.onnx': graph });
    const temperatureOf = async (name: string): Promise<unknown> =>
      (await draftManifest(`hf:team/${name}@main`, { hubEndpoint: server.url })).manifest.constraints?.['temperature'];
    expect(await temperatureOf('tiny')).toEqual({ default: 0.6 });
    expect(await temperatureOf('plain')).toEqual({ default: 1 });
  });

  it.each([
    [{ model_type: 'bert', architectures: ['BertModel'], max_position_embeddings: 512 }, 512],
    [{ model_type: 'xlm-roberta', architectures: ['XLMRobertaModel'], max_position_embeddings: 514 }, 512],
    [{ model_type: 'mpnet', architectures: ['MPNetForMaskedLM'], max_position_embeddings: 514 }, 512],
    [{ model_type: 'nomic_bert', architectures: ['NomicBertModel'], max_position_embeddings: 16_384 }, 8_192],
  ])('drafts an encoder with the graph whose vectors do not depend on the batch: %j', async (encoder, max) => {
    const files = {
      'config.json': Buffer.from(JSON.stringify({ ...encoder, hidden_size: 384 })),
      'tokenizer.json': Buffer.from('{}'),
      ...pooledFiles,
      'onnx/model_quantized.onnx': graph,
      'onnx/model.onnx': graph,
      'README.md': Buffer.from('#'),
    };
    server.addRepository('team/encoder', 'e'.repeat(40), files);
    await server.addPackage('encoder', '1.0.0', files);
    const fromHub = await draftManifest('hf:team/encoder@main', { hubEndpoint: server.url });
    const fromPackage = await draftManifest('npm:encoder@1.0.0', { npm: { registry: server.url } });
    for (const { manifest } of [fromHub, fromPackage]) {
      expect(manifest).toMatchObject({
        type: 'embedding',
        family: 'text-embedding',
        graphFile: 'onnx/model.onnx',
        kindMembers: { embeddingDimensions: 384, maxInputTokens: max, supportsCustomDimensions: false },
      });
      expect(manifest.sources[0]?.files.map(({ path }) => path).toSorted()).toEqual([
        '1_Pooling/config.json',
        'config.json',
        'modules.json',
        'onnx/model.onnx',
        'tokenizer.json',
      ]);
    }
  });

  it('drafts an encoder from its weights, with its prefixes and the lengths of its vectors', async () => {
    const prompts = { query: 'search_query: ', document: 'search_document: ', clustering: 'clustering: ' };
    // The names that published files give to the settings.
    const named = { n_embd: 32, n_positions: 2_048, torch_dtype: 'float16', matryoshka_dimensions: [32, 16] };
    const files = await encoderFiles(
      new URL('tiny-nomic-bert/', embeddingFixtures),
      ({ hidden_size: _size, max_position_embeddings: _positions, ...rest }) => ({ ...rest, ...named }),
    );
    server.addRepository('team/weights', 'a'.repeat(40), {
      ...files,
      'config_sentence_transformers.json': Buffer.from(JSON.stringify({ prompts })),
      ...pooledFiles,
      'pytorch_model.bin': graph,
      'README.md': Buffer.from('#'),
    });
    const { manifest, facts } = await draftManifest('hf:team/weights', { hubEndpoint: server.url });
    expect(manifest).toMatchObject({
      type: 'embedding',
      family: 'text-embedding',
      familyOptions: { queryPrefix: 'search_query: ', documentPrefix: 'search_document: ' },
      converter: { kind: 'bert' },
      graphFile: 'model.onnx',
      kindMembers: {
        embeddingDimensions: 32,
        maxInputTokens: 2_048,
        supportsCustomDimensions: true,
        matryoshkaDimensions: [32, 16],
      },
    });
    expect(manifest.sources[0]?.files.map(({ path }) => path).toSorted()).toEqual([
      '1_Pooling/config.json',
      'config.json',
      'config_sentence_transformers.json',
      'model.safetensors',
      'modules.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    expect(facts.summary).toBe('nomic_bert, safetensors, served as float32');
  });

  it.each(['onnx/model.onnx', 'model.safetensors'])(
    'asks how an encoder pools whose files do not say it: %s',
    async (file) => {
      const read = (name: string) => readFile(new URL(`tiny-bert/${name}`, embeddingFixtures));
      const files = { 'config.json': await read('config.json'), 'tokenizer.json': Buffer.from('{}') };
      const content = file === 'model.safetensors' ? await read(file) : graph;
      server.addRepository('team/silent', '9'.repeat(40), { ...files, [file]: content });
      const settings = { hubEndpoint: server.url };
      await expect(draftManifest('hf:team/silent', settings)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining('add it with --pooling mean, cls, last or max.') as string,
      });
      const { manifest } = await draftManifest('hf:team/silent', settings, { pooling: 'cls' });
      expect(manifest).toMatchObject({ type: 'embedding', familyOptions: { pooling: 'cls' } });
    },
  );

  it.each([
    [{ position_embedding_type: 'relative_key' }, 'its positions are relative_key'],
    [{ position_embedding_type: 'alibi' }, 'its feed_forward_type is undefined, not geglu'],
    [{ intermediate_size: 65 }, 'where config.json says [65, 32]'],
  ])('refuses an encoder that cannot be converted before its weights are read: %j', async (changes, problem) => {
    const read = (name: string) => readFile(new URL(`tiny-bert/${name}`, embeddingFixtures));
    const config = { ...(JSON.parse((await read('config.json')).toString()) as object), ...changes };
    const commit = '8'.repeat(40);
    server.addRepository('team/other', commit, {
      'config.json': Buffer.from(JSON.stringify(config)),
      'model.safetensors': await read('model.safetensors'),
      ...pooledFiles,
    });
    await expect(draftManifest('hf:team/other', { hubEndpoint: server.url })).rejects.toThrow(problem);
    const requests = server.requestsOf(`/team/other/resolve/${commit}/model.safetensors`);
    expect(requests.length).toBeLessThan(4);
  });

  it.each([
    ['onnx/model.onnx', { kind: 'none' }],
    ['model.safetensors', { kind: 'bert' }],
  ])('drafts a classifier with one class as a reranker, from %s', async (file, converter) => {
    const { 'model.safetensors': weights = graph, ...files } = await encoderFiles(
      new URL('tiny-xlm-roberta-reranker/', rerankerFixtures),
      (settings) => settings,
    );
    server.addRepository('team/reranker', 'b'.repeat(40), {
      ...files,
      [file]: file.startsWith('onnx') ? graph : weights,
    });
    const options = { inputPriceUsd: 0.5 };
    const { manifest } = await draftManifest('hf:team/reranker', { hubEndpoint: server.url }, options);
    expect(manifest).toMatchObject({
      ...{ type: 'rerank', family: 'cross-encoder', converter, graphFile: file.replace('safetensors', 'onnx') },
      kindMembers: { maxInputTokens: 258 },
      pricing: { input: { usd: 0.5, diem: 0.5 } },
    });
    expect(manifest.pricing).not.toHaveProperty('output');
  });

  it.each<[string, string, object, string]>([
    ['settings', 'tiny-nomic-bert', { rotary_emb_interleaved: true }, 'its rotary positions interleave'],
    ['sizes', 'tiny-nomic-bert', { vocab_size: 124 }, 'weight is [123, 32] where config.json says [124, 32]'],
    ['experts', 'tiny-nomic-v2', { num_shared_experts: 1 }, 'its experts have num_shared_experts'],
    ['gate', 'tiny-jina-v2', { feed_forward_type: 'reglu' }, 'its feed_forward_type is reglu, not geglu'],
  ])('refuses an encoder before the download for its %s', async (_, model, change, reason) => {
    const files = await encoderFiles(new URL(`${model}/`, embeddingFixtures), (settings) => {
      return { ...settings, ...change };
    });
    server.addRepository('team/encoder', 'a'.repeat(40), { ...files, ...pooledFiles });
    await expect(draftManifest('hf:team/encoder', { hubEndpoint: server.url })).rejects.toThrow(reason);
    const weights = server.requestsOf(`/team/encoder/resolve/${'a'.repeat(40)}/model.safetensors`);
    for (const { range } of weights) expect(range).toMatch(/^bytes=(?:0-0|0-7|8-\d+)$/);
  });

  it('says that an export can be added where the weights cannot', async () => {
    server.addRepository('team/heard', 'a'.repeat(40), {
      'config.json': Buffer.from(JSON.stringify({ architectures: ['WhisperForConditionalGeneration'] })),
      'tokenizer.json': Buffer.from('{}'),
      'model.safetensors': graph,
    });
    await expect(draftManifest('hf:team/heard', { hubEndpoint: server.url })).rejects.toThrow(
      'However, exports of Whisper models can be added: repositories with onnx/decoder_model_merged.onnx',
    );
  });

  it('says what to do with weights as Python pickles', async () => {
    server.addRepository('team/pickled', 'a'.repeat(40), { 'config.json': config, 'pytorch_model.bin': graph });
    await expect(draftManifest('hf:team/pickled', { hubEndpoint: server.url })).rejects.toThrow(
      'holds weights as PyTorch pickles, which are not read because they can run code; save the model as safetensors',
    );
  });

  it('drafts the GGUF file of a package, of which only the header is kept', async () => {
    const gguf = await ggufFile(tinyDecoder('llama', 1));
    const { integrity } = await server.addPackage('tiny-gguf', '1.2.0', {
      'package.json': Buffer.from('{"name":"tiny-gguf"}'),
      'weights/tiny.Q8_0.gguf': gguf,
      'weights/mmproj-f16.gguf': Buffer.from('a projector'),
    });
    const { manifest } = await draftManifest('npm:tiny-gguf@1.2.0', { npm: { registry: server.url } });
    expect(manifest).toMatchObject({
      id: 'tiny.q8_0',
      converter: { kind: 'gguf' },
      sources: [
        {
          uri: 'npm:tiny-gguf@1.2.0',
          integrity,
          files: [{ path: 'weights/tiny.Q8_0.gguf', as: 'tiny.Q8_0.gguf', bytes: gguf.length, sha256: sha256(gguf) }],
        },
      ],
    });
  });

  it.each([
    'WhisperForConditionalGeneration',
    'CLIPModel',
    'BertForSequenceClassification',
    'T5ForConditionalGeneration',
  ])('rejects a %s, which is neither decoder nor encoder', async (architecture) => {
    const files = {
      'config.json': Buffer.from(JSON.stringify({ architectures: [architecture], hidden_size: 8 })),
      'onnx/model.onnx': graph,
    };
    server.addRepository('team/other', 'f'.repeat(40), files);
    await server.addPackage('other', '1.0.0', files);
    const refusal = { code: 'MODEL_PULL_FAILED', message: expect.stringContaining(architecture) as string };
    const fromHub = draftManifest('hf:team/other', { hubEndpoint: server.url });
    await expect(fromHub).rejects.toMatchObject(refusal);
    const fromPackage = draftManifest('npm:other@1.0.0', { npm: { registry: server.url } });
    await expect(fromPackage).rejects.toMatchObject(refusal);
  });

  it.each(['LlamaForCausalLM', 'GPT2LMHeadModel'])('treats a %s as a decoder', async (architecture) => {
    const decoder = Buffer.from(JSON.stringify({ architectures: [architecture] }));
    await server.addPackage('decoder', '1.0.0', { 'config.json': decoder, 'onnx/model.onnx': graph });
    const { manifest: drafted } = await draftManifest('npm:decoder@1.0.0', { npm: { registry: server.url } });
    expect(drafted).toMatchObject({ type: 'text', family: 'decoder' });
  });

  it('rejects a source without a graph or configuration, or of an unsupported kind', async () => {
    await server.addPackage('plain', '1.0.0', { 'config.json': config, 'index.js': graph });
    await server.addPackage('bare', '1.0.0', { 'onnx/model.onnx': graph });
    const settings = { npm: { registry: server.url, fetchRetries: 0 } };
    await expect(draftManifest('npm:plain@1.0.0', settings)).rejects.toThrow(/npm:plain@1\.0\.0 holds no graph/);
    await expect(draftManifest('npm:bare@1.0.0', settings)).rejects.toThrow(/no readable config\.json/);
    await expect(draftManifest('npm:missing@1.0.0', settings)).rejects.toThrow(/did not answer for missing@1\.0\.0/);
    await expect(draftManifest('file:/weights', settings)).rejects.toThrow('There is no file or folder /weights');
  });
});
