import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mutate } from '#test/mutated-bytes';
import { seededRandom } from '#test/seeded-random';
import { copyTinyDecoder, expectedTexts, tinyDecoderNames } from '#test/tiny-decoders';
import { argmax, largestDifference } from '#test/tiny-models/compare-runners';
import { openSplitRunner, type SequenceRunner } from '#test/tiny-models/graph-runner';
import { graphWeights } from './__fixtures__/graph-weights.js';
import type { ConversionOptions } from './conversion.js';
import { convertModel } from './index.js';

/** Of each kind; a search for more takes a larger number. */
const damagedFiles = 60;

let folder: string;

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'convert-hub-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function inputOf(name: string): Promise<string> {
  const input = await mkdtemp(join(folder, `${name}-`));
  await copyTinyDecoder(name, input);
  return input;
}

async function convert(inputFolder: string, options: ConversionOptions = {}) {
  const outputFolder = await mkdtemp(join(folder, 'out-'));
  const result = await convertModel({ kind: 'safetensors', options, inputFolder, outputFolder });
  return { outputFolder, ...result };
}

async function json(model: string, name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(model, name), 'utf8')) as Record<string, unknown>;
}

async function withRunner<Result>(model: string, use: (runner: SequenceRunner) => Promise<Result>): Promise<Result> {
  const config = (await json(model, 'config.json')) as Record<string, number>;
  const shape = {
    layers: config['num_hidden_layers'] ?? 0,
    keyValueHeads: config['num_key_value_heads'] ?? 0,
    headSize: config['head_dim'] ?? 0,
    vocabularySize: config['vocab_size'] ?? 0,
  };
  const runner = await openSplitRunner(join(model, 'model.onnx'), shape, 96);
  try {
    return await use(runner);
  } finally {
    await runner.release();
  }
}

/** Logits of every greedy step after the prompt, which is given in pieces. */
async function steps(model: string, pieces: number[][], count: number): Promise<Float32Array[]> {
  return withRunner(model, async (runner) => {
    const rows: Float32Array[] = [];
    for (const piece of pieces.slice(0, -1)) await runner.append(piece);
    let next = pieces.at(-1) ?? [];
    while (rows.length < count) {
      const { logits } = await runner.append(next);
      rows.push(Float32Array.from(logits));
      next = [argmax(logits)];
    }
    return rows;
  });
}

describe('the converter of safetensors', async () => {
  it.each(await tinyDecoderNames())('computes what the reference computes: %s', async (name) => {
    const input = await inputOf(name);
    const models = new Map<number | undefined, string>();
    for (const { ids, logits, greedy, contextLength } of await expectedTexts(name)) {
      const options = { weights: 'float32', ...(contextLength !== undefined && { contextLength }) };
      const outputFolder = models.get(contextLength) ?? (await convert(input, options)).outputFolder;
      models.set(contextLength, outputFolder);
      const middle = ids.length >> 1;
      for (const pieces of [[ids], [ids.slice(0, middle), ids.slice(middle)]]) {
        const rows = await steps(outputFolder, pieces, greedy.length);
        expect(rows.map(argmax)).toEqual(greedy);
        logits.forEach((row, step) => expect(largestDifference(row, rows[step] ?? row)).toBeLessThan(1e-4));
      }
    }
  });

  it('stretches dynamic rotation only as far as was asked, and as far as it goes', async () => {
    const input = await inputOf('llama-dynamic');
    const contextOf = async (contextLength?: number) => {
      const { outputFolder } = await convert(input, contextLength === undefined ? {} : { contextLength });
      return (await json(outputFolder, 'config.json'))['max_position_embeddings'];
    };
    expect([await contextOf(), await contextOf(4), await contextOf(20), await contextOf(500)]).toEqual([6, 4, 20, 96]);
    await edit(input, 'config.json', (config) => {
      (config['rope_parameters'] as Record<string, unknown>)['factor'] = 0.5;
    });
    await expect(contextOf(3)).rejects.toThrow('its dynamic rotary scaling has the factor 0.5 and 8 dimensions');
  });

  it('reads heads of layers without a window as later libraries write them', async () => {
    const input = await inputOf('gemma4-31b');
    await edit(input, 'config.json', (config) => {
      for (const name of ['global_head_dim', 'num_global_key_value_heads']) delete config[name];
      config['per_layer_config'] = { 2: { head_dim: 16, num_key_value_heads: 1 } };
    });
    const { outputFolder } = await convert(input, { weights: 'float32' });
    const [text] = await expectedTexts('gemma4-31b');
    const { ids, logits } = text ?? expect.fail();
    const [row] = await steps(outputFolder, [ids], 1);
    expect(largestDifference(logits[0] ?? expect.fail(), row ?? expect.fail())).toBeLessThan(1e-4);
  });

  it('keeps every value of MXFP4 in blocks of 8 bits', async () => {
    const input = await inputOf('gpt-oss');
    const [stored, float] = [await convert(input), await convert(input, { weights: 'float32' })];
    const [blocks, floats] = [await graphWeights(stored.outputFolder), await graphWeights(float.outputFolder)];
    for (const name of ['expert_gate+layers.1.expert_up.3', 'expert_down.3']) {
      const layer = `layers.1.${name}`;
      const codes = new Uint8Array(blocks.get(`${layer}.codes`) ?? expect.fail());
      const scales = new Float32Array(blocks.get(`${layer}.scales`) ?? expect.fail());
      const kept = Float32Array.from(codes, (code, index) => (code - 128) * (scales[index >> 5] ?? NaN) + 0);
      // Floats are stored with the inputs first.
      const whole = new Float32Array(floats.get(layer) ?? expect.fail());
      const outputs = whole.length / 32;
      // Codes have no negative zero.
      expect(kept).toEqual(whole.map((_, index) => (whole[(index % 32) * outputs + (index >> 5)] ?? NaN) + 0));
    }
    // All else is stored as bfloat16.
    expect(blocks.get('layers.0.query')).toEqual(floats.get('layers.0.query'));
  });

  it('takes tokens, template and end tokens from the files', async () => {
    const input = await inputOf('llama');
    await edit(input, 'generation_config.json', (file) => Object.assign(file, { eos_token_id: [1, 4] }));
    const { outputFolder, files, converter } = await convert(input, { contextLength: 128 });
    expect(converter).toBe('safetensors/3 stored');
    expect(files.toSorted()).toEqual([
      'chat_template.jinja',
      'config.json',
      'generation_config.json',
      'model.onnx',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    expect(await readFile(join(outputFolder, 'tokenizer.json'))).toEqual(await readFile(join(input, 'tokenizer.json')));
    expect(await json(outputFolder, 'generation_config.json')).toMatchObject({
      eos_token_id: [1, 4],
      temperature: 0.7,
    });
    expect(await json(outputFolder, 'config.json')).toMatchObject({ eos_token_id: 1, max_position_embeddings: 128 });
    const tokenizer = new Tokenizer(
      await json(outputFolder, 'tokenizer.json'),
      await json(outputFolder, 'tokenizer_config.json'),
    );
    for (const { prompt, ids, greedy, text } of await expectedTexts('llama')) {
      expect(tokenizer.encode(prompt, { add_special_tokens: false }).ids).toEqual(ids);
      expect(tokenizer.decode(greedy, { skip_special_tokens: false })).toBe(text);
    }
  });

  it('drops an added token that the weights have no row for, as in the published Gemma 3 1B', async () => {
    const input = await inputOf('gemma3');
    const { model } = await json(input, 'tokenizer.json');
    const size = Object.keys((model as { vocab: object }).vocab).length;
    const token = { id: size, content: '<image_soft_token>', special: true, normalized: false };
    const rest = { single_word: false, lstrip: false, rstrip: false };
    await edit(input, 'tokenizer.json', (file) => (file.added_tokens as object[]).push({ ...token, ...rest }));
    const { outputFolder } = await convert(input);
    const files = [
      await json(outputFolder, 'tokenizer.json'),
      await json(outputFolder, 'tokenizer_config.json'),
    ] as const;
    const tokenizer = new Tokenizer(...files);
    const { ids } = tokenizer.encode('a <image_soft_token>', { add_special_tokens: false });
    expect(Math.max(...ids)).toBeLessThan(size);
    expect(tokenizer.decode(ids)).toBe('a <image_soft_token>');
    const [{ prompt, ids: known } = expect.fail()] = await expectedTexts('gemma3');
    expect(tokenizer.encode(prompt, { add_special_tokens: false }).ids).toEqual(known);
  });

  it.each([
    [true, false],
    [false, true],
  ])(
    'ties the output layer by what is stored where the file says both: %s outside, %s inside',
    async (outer, inner) => {
      const input = await inputOf('mistral3');
      const content = await readFile(join(input, 'model.safetensors'));
      await edit(input, 'config.json', (config) => {
        config['tie_word_embeddings'] = outer;
        (config['text_config'] as Record<string, unknown>)['tie_word_embeddings'] = inner;
      });
      const tied = async () => (await json((await convert(input)).outputFolder, 'config.json'))['tie_word_embeddings'];
      expect(await tied()).toBe(false);
      await writeFile(join(input, 'model.safetensors'), withoutTensor(content, /lm_head\.weight$/));
      expect(await tied()).toBe(true);
    },
  );

  it('rounds nothing unless asked', async () => {
    const input = await inputOf('qwen2');
    expect((await convert(input)).converter).toBe('safetensors/3 stored');
    const { outputFolder, converter } = await convert(input, { weights: 'int8' });
    expect(converter).toBe('safetensors/3 int8 blockSize=32 head=int8');
    const [{ ids, logits } = expect.fail()] = await expectedTexts('qwen2');
    const [row = expect.fail()] = await steps(outputFolder, [ids], 1);
    const difference = largestDifference(row, logits[0] ?? row);
    expect(difference).toBeGreaterThan(1e-3);
    expect(difference).toBeLessThan(1);
  });
});

/** The bytes of a file without a tensor. */
function withoutTensor(content: Buffer, name: RegExp): Buffer {
  const start = 8 + Number(content.readBigUInt64LE());
  const list = JSON.parse(content.toString('utf8', 8, start)) as Record<string, { data_offsets?: [number, number] }>;
  const [found = ''] = Object.keys(list).filter((each) => name.test(each));
  const [from, to] = list[found]?.data_offsets ?? expect.fail(`no ${String(name)}`);
  const rest = Object.entries(list).filter(([each]) => each !== found);
  const moved = rest.map(([each, entry]) => {
    const offsets = entry.data_offsets;
    if (offsets === undefined || offsets[0] < to) return [each, entry] as const;
    return [each, { ...entry, data_offsets: offsets.map((offset) => offset - (to - from)) }] as const;
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(moved)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const data = content.subarray(start);
  return Buffer.concat([length, header, data.subarray(0, from), data.subarray(to)]);
}

/** `[inputs, outputs]` of a layer in blocks of 4 bits. */
function unpacked(weights: Map<string, ArrayBuffer>, name: string, inputs: number): Float32Array {
  const part = (suffix: string) => weights.get(`${name}.${suffix}`);
  const nibbles = (buffer: ArrayBuffer) => [...new Uint8Array(buffer)].flatMap((byte) => [byte & 15, byte >> 4]);
  const codes = nibbles(part('codes') ?? expect.fail(`no ${name}.codes`));
  const scales = new Float32Array(part('scales') ?? expect.fail());
  const outputs = codes.length / inputs;
  const blocks = scales.length / outputs;
  const packedZeros = part('zero_points');
  const zeros = packedZeros && nibbles(packedZeros);
  const values = new Float32Array(codes.length);
  codes.forEach((code, index) => {
    const [output, input] = [Math.floor(index / inputs), index % inputs];
    const block = Math.floor((input * blocks) / inputs);
    const zero = zeros?.[output * 2 * Math.ceil(blocks / 2) + block] ?? 8;
    values[input * outputs + output] = (code - zero) * (scales[output * blocks + block] ?? NaN);
  });
  return values;
}

describe('packed checkpoints', () => {
  it.each([
    ['llama-awq', true],
    ['llama-gptq', true],
    ['qwen2-gptq', false],
  ])('keep their codes, scales and zero points: %s', async (name, hasZeros) => {
    const input = await inputOf(name);
    const [stored, float] = [await convert(input), await convert(input, { weights: 'float32' })];
    expect(stored.converter).toBe('safetensors/3 stored');
    const [blocks, floats] = [await graphWeights(stored.outputFolder), await graphWeights(float.outputFolder)];
    for (const part of ['query', 'key', 'value', 'attention_output', 'gate', 'up', 'down']) {
      const layer = `layers.0.${part}`;
      expect(blocks.has(`${layer}.zero_points`)).toBe(hasZeros);
      expect(unpacked(blocks, layer, 64)).toEqual(new Float32Array(floats.get(layer) ?? expect.fail()));
    }
    // Embeddings and output layer are floats in the file.
    for (const table of ['embedding', 'head']) expect(blocks.get(table)).toEqual(floats.get(table));
    for (const { ids, logits } of await expectedTexts(name)) {
      const [row = expect.fail()] = await steps(stored.outputFolder, [ids], 1);
      // The kernel rounds its inputs to 8 bits.
      expect(largestDifference(row, logits[0] ?? row)).toBeLessThan(0.5);
    }
  });

  it.each<[string, (content: Buffer) => void, string]>([
    [
      'a group that there is not',
      (content) => {
        const groups = Int32Array.from({ length: 64 }, (_, index) => (index === 63 ? 2 : index >> 5));
        const usual = Int32Array.from({ length: 64 }, (_, index) => index >> 5);
        Buffer.from(groups.buffer).copy(content, content.indexOf(Buffer.from(usual.buffer)));
      },
      'g_idx puts input 63 into group 2 of 2',
    ],
    [
      'missing scales',
      (content) => content.write('scules', content.indexOf('mlp.up_proj.scales') + 'mlp.up_proj.'.length),
      'it has no tensor model.layers.0.mlp.up_proj.scales',
    ],
  ])('are refused by file and tensor: %s', async (_, change, reason) => {
    const input = await inputOf('llama-gptq');
    const content = await readFile(join(input, 'model.safetensors'));
    change(content);
    await writeFile(join(input, 'model.safetensors'), content);
    await expect(convert(input)).rejects.toThrow('The file model.safetensors cannot be converted: ');
    await expect(convert(input)).rejects.toThrow(reason);
  });
});

async function edit(input: string, name: string, change: (file: Record<string, unknown>) => void): Promise<void> {
  const content = await json(input, name);
  change(content);
  await writeFile(join(input, name), JSON.stringify(content));
}

async function patch(input: string, name: string, from: string, to: string): Promise<void> {
  const content = await readFile(join(input, name));
  content.write(to, content.indexOf(from));
  await writeFile(join(input, name), content);
}

describe('a checkpoint that cannot be converted', () => {
  const weights = 'model.safetensors';

  it.each<[string, string, (input: string) => Promise<unknown>, string]>([
    [
      'an absent tensor',
      'mistral',
      (input) => patch(input, weights, 'layers.1.mlp.up_proj', 'layers.1.mlp.up_pray'),
      `${weights} cannot be converted: it has no tensor model.layers.1.mlp.up_proj.weight`,
    ],
    [
      'a tensor of no use',
      'qwen2',
      (input) => edit(input, 'config.json', (config) => Object.assign(config, { num_hidden_layers: 1 })),
      `${weights} cannot be converted: it has tensors that nothing here computes with: model.layers.1.`,
    ],
    [
      'a tensor of another shape',
      'qwen3',
      (input) => edit(input, 'config.json', (config) => Object.assign(config, { intermediate_size: 64 })),
      `${weights} cannot be converted: its tensor model.layers.0.mlp.gate_proj.weight is 32 × 48, not 32 × 64`,
    ],
    [
      'a value that is no number',
      'qwen3',
      async (input) => {
        const content = await readFile(join(input, weights));
        content.writeFloatLE(NaN, content.length - 4);
        await writeFile(join(input, weights), content);
      },
      `${weights} cannot be converted: value `,
    ],
    [
      'a file cut short',
      'qwen3',
      async (input) => {
        const content = await readFile(join(input, weights));
        await writeFile(join(input, weights), content.subarray(0, -64));
      },
      'is cut short: it ends at',
    ],
    [
      'a missing shard',
      'llama',
      (input) => rm(join(input, 'model-00002-of-00002.safetensors')),
      'model-00002-of-00002.safetensors cannot be converted: it is missing, and model.safetensors.index.json puts lm_head',
    ],
    [
      'a shard without its tensor',
      'llama',
      (input) => cp(join(input, 'model-00001-of-00002.safetensors'), join(input, 'model-00002-of-00002.safetensors')),
      'model-00002-of-00002.safetensors cannot be converted: it has no lm_head.weight, which model.safetensors.index.json',
    ],
    [
      'a shard outside the folder',
      'llama',
      (input) => patch(input, 'model.safetensors.index.json', 'model-00002-of', '../../2-../../o'),
      'model.safetensors.index.json cannot be converted: it puts lm_head.weight into a file that is no .safetensors file',
    ],
    [
      'more tokens than embeddings',
      'mistral',
      (input) =>
        edit(input, 'tokenizer.json', (file) => {
          (file.model as { vocab: Record<string, number> }).vocab['more'] = 300;
        }),
      'tokenizer.json cannot be converted: it has a token 300, and config.json and weights have 300 tokens',
    ],
    [
      'a token without an embedding around every text',
      'mistral',
      (input) =>
        edit(input, 'tokenizer.json', (file) => {
          (file.added_tokens as object[]).push({ id: 300, content: '<|more|>', special: true });
          const tokens = { '<|more|>': { id: '<|more|>', ids: [300], tokens: ['<|more|>'] } };
          file.post_processor = { type: 'TemplateProcessing', single: [], pair: [], special_tokens: tokens };
        }),
      'tokenizer.json cannot be converted: it has a token 300, and config.json and weights have 300 tokens',
    ],
    [
      'kinds of layers that it has not',
      'granite4-h',
      (input) =>
        edit(input, 'config.json', (config) => (config['layer_types'] = ['mamba', 'rwkv', 'attention', 'mamba'])),
      'config.json cannot be converted: it has a layer of the type rwkv; attention, mamba are converted',
    ],
    [
      'no layer that attends',
      'granite4-h',
      (input) => edit(input, 'config.json', (config) => delete config['layer_types']),
      'has no tensor model.layers.2.mamba.in_proj.weight',
    ],
    [
      'a limit of the step sizes',
      'granite4-h',
      (input) => edit(input, 'config.json', (config) => (config['time_step_limit'] = [0.001, 0.1])),
      'config.json cannot be converted: its time_step_limit is [0.001,0.1], and none is computed',
    ],
    [
      'a Mamba layer of another size',
      'granite4-h',
      (input) => edit(input, 'config.json', (config) => (config['mamba_n_groups'] = 2)),
      'its tensor model.layers.0.mamba.in_proj.weight is 32 × 162, not 32 × 194',
    ],
    [
      'experts that are not there',
      'granite4-h',
      (input) =>
        edit(input, 'config.json', (config) => Object.assign(config, { num_local_experts: 4, num_experts_per_tok: 2 })),
      'it has no tensor model.layers.0.block_sparse_moe.router.layer.weight',
    ],
    [
      'corrections of residual streams without a scale',
      'gemma3n',
      (input) => edit(input, 'config.json', (config) => (config['altup_correct_scale'] = false)),
      'config.json cannot be converted: its altup_correct_scale is false',
    ],
    [
      'thresholds for the gates of fewer layers',
      'gemma3n',
      (input) => edit(input, 'config.json', (config) => (config['activation_sparsity_pattern'] = [0.95])),
      'config.json cannot be converted: it has thresholds for the gates of 1 layers, not 8',
    ],
    [
      'a residual stream that there is not',
      'gemma3n',
      (input) => edit(input, 'config.json', (config) => (config['altup_active_idx'] = 4)),
      'config.json cannot be converted: its layers compute stream 4 of 4',
    ],
    [
      'heads that differ between layers of one kind',
      'gemma4-31b',
      (input) =>
        edit(input, 'config.json', (config) => {
          delete config['global_head_dim'];
          config['per_layer_config'] = { 0: { head_dim: 16 }, 2: { head_dim: 16 } };
        }),
      'config.json cannot be converted: its per_layer_config differs between layers of one kind',
    ],
    [
      'keys that are no values in a file without values',
      'gemma4-31b',
      (input) => edit(input, 'config.json', (config) => (config['attention_k_eq_v'] = false)),
      'it has no tensor model.layers.2.self_attn.v_proj.weight',
    ],
    [
      'experts that are not told',
      'gemma4-31b',
      (input) => edit(input, 'config.json', (config) => (config['enable_moe_block'] = true)),
      'its num_local_experts is missing, not a number',
    ],
    [
      'shared keys of layers that there are not',
      'gemma4',
      (input) => edit(input, 'config.json', (config) => (config['num_kv_shared_layers'] = 8)),
      'config.json cannot be converted: 8 of its 9 layers share keys and values that no other layer has',
    ],
    [
      'kinds of layers that disagree',
      'llama4',
      (input) => edit(input, 'config.json', (config) => (config['layer_types'] = new Array(5).fill('full_attention'))),
      'its layer_types and no_rope_layers disagree about the layers whose attention is chunked',
    ],
    [
      'a pattern of other layers',
      'nemotron3',
      (input) => edit(input, 'config.json', (config) => (config['hybrid_override_pattern'] = 'MEX*E')),
      'config.json cannot be converted: it has a layer of the type X; mamba, attention, mlp, moe are converted',
    ],
    [
      'a pattern of another length',
      'nemotron-h',
      (input) => edit(input, 'config.json', (config) => (config['hybrid_override_pattern'] = 'M-M*')),
      'config.json cannot be converted: its hybrid_override_pattern lists 4 layers, not 5',
    ],
    [
      'another activation',
      'nemotron-h',
      (input) => edit(input, 'config.json', (config) => (config['mlp_hidden_act'] = 'silu')),
      'config.json cannot be converted: its mlp_hidden_act is silu; relu2 is computed',
    ],
    [
      'a norm before the gate',
      'falcon-h1-norm',
      (input) => edit(input, 'config.json', (config) => (config['mamba_norm_before_gate'] = true)),
      'config.json cannot be converted: its mamba_norm_before_gate is true, and only a norm behind the gate is computed',
    ],
    [
      'biases beside factors',
      'falcon-h1',
      (input) => edit(input, 'config.json', (config) => (config['attention_bias'] = true)),
      'config.json cannot be converted: its attention_bias is true, and only layers without a bias are computed',
    ],
    [
      'factors of other parts',
      'falcon-h1',
      (input) => edit(input, 'config.json', (config) => (config['ssm_multipliers'] = [1, 2])),
      'config.json cannot be converted: its ssm_multipliers lists 2 numbers, not 5',
    ],
    [
      'experts in groups',
      'glm4-moe',
      (input) => edit(input, 'config.json', (config) => Object.assign(config, { n_group: 4 })),
      'config.json cannot be converted: 3 of its 6 experts come from 1 of 4 groups, which do not fit',
    ],
    ...(
      [
        ['hunyuan-moe', { moe_topk: [3, 2] }, 'its moe_topk is 3 and 2, which is not computed here'],
        ['hunyuan-moe', { moe_intermediate_size: [24, 24] }, 'its moe_intermediate_size is 24, which is not computed'],
        ['hunyuan-moe', { num_shared_expert: [2, 2] }, 'its num_shared_expert is 2, which is not computed here'],
        ['hunyuan-moe', { use_cla: true }, 'its use_cla is true, which is not computed here'],
        ['mistral4-text', { n_group: 2 }, 'its n_group is 2, which is not computed here'],
        [
          'mistral4-text',
          { rope_parameters: { rope_theta: 1e6, rope_type: 'default', partial_rotary_factor: 0.5 } },
          'its partial_rotary_factor is 0.5, which is not computed here',
        ],
        ['deepseek-v3', { attention_bias: true }, 'its attention_bias is true, which is not computed here'],
        ['deepseek-v3', { rope_interleave: false }, 'its rope_interleave is false, which is not computed here'],
        ['deepseek-v3', { scoring_func: 'softmax' }, 'its scoring_func is softmax, which is not computed here'],
        ['deepseek-v3', { topk_method: 'greedy' }, 'its topk_method is greedy, which is not computed here'],
        ['deepseek-v3', { topk_group: 5 }, '3 of its 8 experts come from 5 of 4 groups, which do not fit'],
        ['deepseek-v3', { num_key_value_heads: 2 }, 'its num_key_value_heads is 2 beside 4 heads, which is not'],
        ['deepseek-v3', { moe_layer_freq: 2 }, 'its `deepseek2.interleave_moe_layer_step` is 2, which is not'],
        ['deepseek-v3', { kv_lora_rank: 12 }, 'self_attn.kv_a_proj_with_mqa.weight is 32 × 20, not 32 × 16'],
        ['deepseek-v3', { q_lora_rank: null }, 'it has no tensor model.layers.0.self_attn.q_proj.weight'],
        ['deepseek-v2', { norm_topk_prob: true }, 'its norm_topk_prob is true, which is not computed here'],
        ['deepseek-v2', { scoring_func: 'sigmoid' }, 'its scoring_func is sigmoid, which is not computed here'],
        ['deepseek-v2', { topk_method: 'noaux_tc' }, 'its topk_method is noaux_tc, which is not computed here'],
        ['glm4-moe-lite', { partial_rotary_factor: 0.5 }, 'its partial_rotary_factor is 0.5, which is not computed'],
        ['deepseek-v3.2', { index_topk: null }, 'its index_topk is missing, not a number'],
        ['deepseek-v3.2', { index_n_heads: 4 }, 'self_attn.indexer.wq_b.weight is 24 × 64, not 24 × 32'],
        [
          'deepseek-v3.2',
          { indexer_rope_interleave: true },
          'its indexer_rope_interleave is true, which is not computed',
        ],
        ['glm5', { indexer_rope_interleave: false }, 'its indexer_rope_interleave is false, which is not computed'],
        ['glm5', { indexer_types: ['full', 'full'] }, 'it lists the indexers of 2 layers, not 3'],
        ['glm5', { index_topk_pattern: 'FFX' }, 'it has a layer of the type X; full, shared are converted'],
        ['glm5', { index_topk_pattern: 'FSF' }, 'nothing here computes with: model.layers.1.self_attn.indexer.'],
        [
          'glm5.2',
          { indexer_types: null, index_topk_pattern: 'FFFF' },
          'it has no tensor model.layers.2.self_attn.indexer.',
        ],
        [
          'glm4-moe-lite',
          { mlp_layer_types: ['dense', 'sparse', 'dense'] },
          'its mlp_layer_types is dense, sparse, dense, which is not computed here',
        ],
      ] as [string, object, string][]
    ).map(([name, change, reason]): [string, string, (input: string) => Promise<unknown>, string] => [
      `${name} with ${JSON.stringify(change)}`,
      name,
      (input) => edit(input, 'config.json', (config) => Object.assign(config, change)),
      reason,
    ]),
    [
      'a missing bias of the router',
      'minimax-m2',
      (input) =>
        patch(
          input,
          weights,
          'layers.1.block_sparse_moe.e_score_correction',
          'layers.1.block_sparse_moe.e_score_corruption',
        ),
      'it has no tensor model.layers.1.block_sparse_moe.e_score_correction_bias',
    ],
    [
      'an output layer that is not stored, and not tied',
      'qwen3',
      (input) => edit(input, 'config.json', (config) => Object.assign(config, { tie_word_embeddings: false })),
      'it has no tensor lm_head.weight',
    ],
    [
      'a token whose id is no number',
      'mistral',
      (input) =>
        edit(input, 'tokenizer.json', (file) => (file.added_tokens as object[]).push({ id: '7', content: 'x' })),
      'tokenizer.json cannot be converted: it has a token with the id "7"',
    ],
    [
      'settings that are no JSON',
      'mistral',
      (input) => writeFile(join(input, 'config.json'), '{"model_type": llama}'),
      'config.json cannot be converted: it is not JSON: Unexpected token',
    ],
    [
      'blocks of MXFP4 without a scale each',
      'gpt-oss',
      (input) => patch(input, weights, '"shape":[4,64,1]', '"shape":[4,1,64]'),
      'mlp.experts.gate_up_proj_scales is [4, 1, 64], not one per block',
    ],
    [
      'a scale of MXFP4 that is no number',
      'gpt-oss',
      async (input) => {
        const content = await readFile(join(input, weights));
        const start = 8 + Number(content.readBigUInt64LE());
        const list = JSON.parse(content.toString('utf8', 8, start)) as Record<string, { data_offsets: number[] }>;
        const [from = 0] = list['model.layers.0.mlp.experts.down_proj_scales']?.data_offsets ?? [];
        content[start + from + 3] = 255;
        await writeFile(join(input, weights), content);
      },
      'scale 3 of model.layers.0.mlp.experts.down_proj_scales at byte ',
    ],
    [
      'a layer of another kind',
      'lfm2-bias',
      (input) => edit(input, 'config.json', (config) => (config['layer_types'] = ['conv', 'mamba', 'conv'])),
      'config.json cannot be converted: it has a layer of the type mamba; full_attention, conv are converted',
    ],
    [
      'kinds of fewer layers',
      'lfm2-bias',
      (input) => edit(input, 'config.json', (config) => (config['layer_types'] = ['conv', 'full_attention'])),
      'config.json cannot be converted: its layer_types lists 2 layers, not 3',
    ],
    [
      'attention without a gate',
      'qwen35',
      (input) => edit(input, 'config.json', (config) => (config['attn_output_gate'] = false)),
      'config.json cannot be converted: its attn_output_gate is false, and only attention with a gate is computed',
    ],
    [
      'experts of another size',
      'qwen35-moe-sees',
      (input) =>
        edit(input, 'config.json', (config) =>
          Object.assign(config['text_config'] as object, { moe_intermediate_size: 12 }),
        ),
      'mlp.experts.gate_up_proj is 32 × 16 × 6, not 32 × 12 × 6',
    ],
    [
      'no tokenizer',
      'mistral',
      (input) => rm(join(input, 'tokenizer.json')),
      'tokenizer.json cannot be converted: it is',
    ],
    ...(
      [
        [{ architectures: ['MambaForCausalLM'] }, 'its architecture is MambaForCausalLM; LlamaForCausalLM, '],
        [{ hidden_size: '32' }, 'its hidden_size is "32", not a number'],
        [{ num_attention_heads: 0 }, 'its num_attention_heads is 0, not a size'],
        [{ num_hidden_layers: 2_000_000_000 }, 'its num_hidden_layers is 2000000000, more than 4096'],
        [
          { max_position_embeddings: 2 ** 31 - 1 },
          'its context of 2147483647 tokens needs rotary tables of 137439 MB; shorten it with the option `contextLength`',
        ],
        [
          { quantization_config: { quant_method: 'mxfp4' } },
          'its quantization mxfp4 is not converted; the model in bf16 or fp16',
        ],
        [{ hidden_act: 'relu2' }, 'its activation is relu2'],
        [{ rope_parameters: { rope_type: 'other' } }, 'its rotary scaling other is not converted'],
        [{ rope_parameters: { llama_4_scaling_beta: 0.1 } }, 'its queries grow with their position'],
        [
          { quantization_config: { quant_method: 'bitsandbytes', load_in_4bit: true } },
          'its quantization bitsandbytes is not converted; the model in bf16 or fp16, its GGUF file, AWQ or GPTQ are',
        ],
        [{ quantization_config: { quant_method: 'fp8', weight_block_size: [128] } }, 'its weight_block_size is [128]'],
        [{ quantization_config: { quant_method: 'gptq', bits: 3 } }, 'its gptq quantization of 3 bits'],
        [{ quantization_config: { quant_method: 'awq', bits: 4, version: 'gemv' } }, 'its awq layout gemv'],
        [{ quantization_config: { quant_method: 'gptq', bits: 4, group_size: 48 } }, 'its gptq group size 48'],
      ] as [object, string][]
    ).map(([change, reason]): [string, string, (input: string) => Promise<unknown>, string] => [
      JSON.stringify(change),
      'mistral',
      (input) => edit(input, 'config.json', (config) => Object.assign(config, change)),
      `config.json cannot be converted: ${reason}`,
    ]),
  ])('names file and reason, and leaves nothing: %s', async (_, name, change, reason) => {
    const input = await inputOf(name);
    await change(input);
    const outputFolder = await mkdtemp(join(folder, 'failed-'));
    const failed = convertModel({ kind: 'safetensors', options: {}, inputFolder: input, outputFolder });
    await expect(failed).rejects.toThrow(reason);
    expect(await readdir(outputFolder)).toEqual([]);
  });
});

describe('damaged bytes', () => {
  it.each(['model.safetensors', 'config.json', 'tokenizer.json'])(
    'of %s convert or are refused by name',
    async (name) => {
      const input = await inputOf('llama-gptq');
      const original = await readFile(join(input, name));
      // The part that is read before the weights.
      const header = name === 'model.safetensors' ? 8 + Number(original.readBigUInt64LE()) : original.length;
      const others: string[] = [];
      for (const seed of Array.from({ length: damagedFiles }, (_, index) => index + 1)) {
        const random = seededRandom(seed);
        const half = seed % 2 === 0;
        const damaged = half
          ? Buffer.concat([mutate(original.subarray(0, header), random), original.subarray(header)])
          : mutate(original, random);
        await writeFile(join(input, name), damaged);
        const result = await convert(input).then(
          () => 'INVALID_MODEL',
          (error: { code?: string; message: string }) => error.code ?? error.message,
        );
        if (result !== 'INVALID_MODEL') others.push(`seed ${seed}: ${result}`);
      }
      expect(others).toEqual([]);
    },
  );
});
