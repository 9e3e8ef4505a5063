import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tinyBertFolder } from '#test/tiny-encoder';
import { tinyRerankerFolder } from '#test/tiny-reranker';
import { draftManifest } from '../draft-manifest.js';
import { convertModel } from './index.js';

/* The converted graph's results are tested against the reference beside the family that runs it. */

let folder: string;
let input: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'convert-bert-'));
  input = join(folder, 'input');
  await cp(tinyBertFolder, input, { recursive: true });
  await rm(join(input, 'reference.json'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function convert(options: Record<string, number> = {}) {
  const outputFolder = await mkdtemp(join(folder, 'out-'));
  const run = convertModel({ kind: 'bert', options, inputFolder: input, outputFolder });
  return await run.then(
    ({ converter, files }) => ({ converter, files: files.toSorted(), outputFolder }),
    async (error: unknown) => {
      const left = await readdir(outputFolder, { recursive: true, withFileTypes: true });
      expect(left.filter((entry) => entry.isFile())).toEqual([]);
      throw error;
    },
  );
}

async function edit(name: string, change: (content: Record<string, unknown>) => void): Promise<void> {
  const content = JSON.parse(await readFile(join(input, name), 'utf8')) as Record<string, unknown>;
  change(content);
  await writeFile(join(input, name), JSON.stringify(content));
}

describe('the BERT encoder converter', () => {
  it('writes the graph and the configuration files', async () => {
    await edit('tokenizer.json', (file) => {
      file.truncation = { max_length: 8 };
      file.padding = { strategy: { Fixed: 8 } };
    });
    const { converter, files, outputFolder } = await convert();
    expect(converter).toBe('bert/1');
    expect(files).toEqual([
      '1_Pooling/config.json',
      'config.json',
      'model.onnx',
      'modules.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    const tokenizer = JSON.parse(await readFile(join(outputFolder, 'tokenizer.json'), 'utf8')) as object;
    expect(tokenizer).toMatchObject({ truncation: null, padding: null, model: { type: 'WordPiece' } });
  });

  it('writes a tokenizer configuration if there is none', async () => {
    await rm(join(input, 'tokenizer_config.json'));
    const { outputFolder } = await convert();
    const config = JSON.parse(await readFile(join(outputFolder, 'tokenizer_config.json'), 'utf8')) as object;
    expect(config).toMatchObject({ pad_token: '[PAD]', do_lower_case: true, model_max_length: 128 });
  });

  it.each([
    ['another kind of model', { model_type: 'electra' }, /its model_type is electra/],
    ['relative positions', { position_embedding_type: 'relative_key' }, /its positions are relative_key/],
    ['an unknown activation', { hidden_act: 'silu' }, /its activation is silu/],
    [
      'sizes that the weights do not have',
      { hidden_size: 64 },
      /word_embeddings\.weight is \[123, 32\] where config\.json says \[123, 64\]/,
    ],
    ['no sizes', { num_hidden_layers: undefined }, /it does not say how large layers is/],
  ])('refuses %s', async (_name, change, problem) => {
    await edit('config.json', (config) => Object.assign(config, change));
    await expect(convert()).rejects.toThrow(problem);
  });

  it.each([
    [
      'scaled rotary positions',
      'tiny-gte',
      { model_type: 'new', rope_scaling: { type: 'dynamic', factor: 8 } },
      /are scaled/,
    ],
    ['layers without end', 'tiny-modernbert', { num_hidden_layers: 2e9 }, /2000000000 layers are more than 1024/],
    [
      'positions without end',
      'tiny-modernbert',
      { max_position_embeddings: 2e9 },
      /2000000000 positions are more than 1048576/,
    ],
    ['norms before the layers', 'tiny-nomic-bert', { prenorm: true }, /norms come before/],
    [
      'experts with normalized weights',
      'tiny-nomic-v2',
      { moe_normalize_expert_weights: true },
      /its experts have moe_normalize_expert_weights/,
    ],
    ['experts that all tokens share', 'tiny-nomic-v2', { num_shared_experts: 1 }, /have num_shared_experts/],
    ['experts with gates', 'tiny-nomic-v2', { activation_function: 'swiglu' }, /its experts have gates/],
    ['more experts than there are', 'tiny-nomic-v2', { moe_top_k: 5 }, /it uses 5 of 4 experts/],
    ['experts in no layer said', 'tiny-nomic-v2', { moe_every_n_layers: 0 }, /how large moe_every_n_layers is/],
    [
      'experts of another number',
      'tiny-nomic-v2',
      { num_experts: 8 },
      /router\.layer\.weight is \[4, 32\] where config\.json says \[8, 32\]/,
    ],
    ['another gate', 'tiny-jina-v2', { feed_forward_type: 'reglu' }, /its feed_forward_type is reglu, not geglu/],
    [
      'gates of another size',
      'tiny-jina-v2-code',
      { intermediate_size: 48 },
      /up_gated_layer\.weight is \[80, 32\] where config\.json says \[96, 32\]/,
    ],
    [
      'positions without a gate',
      'tiny-bert',
      { position_embedding_type: 'alibi', feed_forward_type: 'geglu' },
      /it has ALiBi positions and none of mlp\.gated_layers,/,
    ],
    [
      'a classifier with ALiBi',
      'tiny-jina-v2',
      { architectures: ['JinaBertForSequenceClassification'] },
      /it is a classifier with ALiBi positions/,
    ],
    ['an activation of other models', 'tiny-modernbert', { hidden_activation: 'relu' }, /its activation is relu/],
    [
      'layers of another size',
      'tiny-modernbert',
      { intermediate_size: 64 },
      /layers\.2\.mlp\.Wi\.weight is \[96, 32\] where config\.json says \[128, 32\]/,
    ],
  ])('refuses %s', async (_name, model, change, problem) => {
    await rm(input, { recursive: true });
    await cp(new URL(`../${model}/`, tinyBertFolder), input, { recursive: true });
    await edit('config.json', (config) => Object.assign(config, change));
    await expect(convert()).rejects.toThrow(problem);
  });

  it('refuses a classifier with several classes', async () => {
    await rm(input, { recursive: true });
    await cp(tinyRerankerFolder('tiny-bert-reranker'), input, { recursive: true });
    const path = join(input, 'model.safetensors');
    const weights = await readFile(path, 'latin1');
    // The header says that the same 32 numbers are two classes of 16.
    await writeFile(path, weights.replace('"shape":[1,32]', '"shape":[2,16]'), 'latin1');
    await expect(convert()).rejects.toThrow(/classifier\.weight is \[2, 16\]: a classifier with 2 classes/);
  });

  it('rejects options, missing or truncated files, and other models', async () => {
    await expect(convert({ bits: 8 })).rejects.toMatchObject({ code: 'INVALID_MODEL' });
    const path = join(input, 'model.safetensors');
    const weights = await readFile(path);
    await writeFile(path, weights.subarray(0, weights.length - 4_000));
    await expect(convert()).rejects.toThrow(/cut short/);
    await writeFile(path, Buffer.concat([Buffer.alloc(8, 0xff), weights]));
    await expect(convert()).rejects.toThrow(/its list of tensors is cut short/);
    await writeFile(path, Buffer.concat([Buffer.from([4, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('nope')]));
    await expect(convert()).rejects.toThrow(/is not JSON/);
    const list = Buffer.from('{"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[2]}}');
    await writeFile(path, Buffer.concat([Buffer.from([list.length, 0, 0, 0, 0, 0, 0, 0]), list]));
    await expect(convert()).rejects.toThrow(/the entry of embeddings\.word_embeddings\.weight .* is damaged/);
    await rm(path);
    await expect(convert()).rejects.toThrow(/model\.safetensors cannot be converted: it is missing/);
  });

  it('reads weights in shards', async () => {
    const whole = await convert();
    const path = join(input, 'model.safetensors');
    const weights = await readFile(path);
    const start = 8 + Number(weights.readBigUInt64LE(0));
    const list = JSON.parse(weights.toString('utf8', 8, start)) as Record<string, { data_offsets: number[] }>;
    const { __metadata__: _, ...entries } = list;
    const places: Record<string, string> = {};
    for (const shard of [1, 2]) {
      const name = `model-0000${shard}-of-00002.safetensors`;
      const own: typeof entries = {};
      const data: Buffer[] = [];
      let end = 0;
      for (const [index, [tensor, entry]] of Object.entries(entries).entries()) {
        if (index % 2 !== shard - 1) continue;
        const [from = 0, to = 0] = entry.data_offsets;
        data.push(weights.subarray(start + from, start + to));
        own[tensor] = { ...entry, data_offsets: [end, (end += to - from)] };
        places[tensor] = name;
      }
      const header = Buffer.from(JSON.stringify(own));
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(header.length));
      await writeFile(join(input, name), Buffer.concat([length, header, ...data]));
    }
    await writeFile(join(input, 'model.safetensors.index.json'), JSON.stringify({ weight_map: places }));
    await rm(path);
    const { manifest } = await draftManifest(`file:${input}`, {});
    expect(manifest).toMatchObject({ type: 'embedding', converter: { kind: 'bert' } });
    expect(manifest.sources[0]?.files.map(({ path: file }) => file)).toContain('model-00002-of-00002.safetensors');
    const sharded = await convert();
    expect(sharded.files).toEqual(whole.files);
    const graphs = await Promise.all(
      [whole, sharded].map(({ outputFolder }) => readFile(join(outputFolder, 'model.onnx'))),
    );
    expect(graphs[0]?.equals(graphs[1] ?? Buffer.alloc(0))).toBe(true);
  });

  it('reads weights with a prefix', async () => {
    const path = join(input, 'model.safetensors');
    const weights = await readFile(path);
    const length = Number(weights.readBigUInt64LE(0));
    const header = weights
      .subarray(8, 8 + length)
      .toString('utf8')
      .replaceAll(/"(embeddings|encoder)\./g, '"bert.$1.');
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
    await writeFile(path, Buffer.concat([size, Buffer.from(header), weights.subarray(8 + length)]));
    expect((await convert()).files).toContain('model.onnx');
  });
});
