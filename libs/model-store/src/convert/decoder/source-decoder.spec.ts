import { describe, expect, it } from 'vitest';
import { GgufMetadata } from '../gguf/gguf-metadata.js';
import type { GgufValue } from '../gguf/gguf-types.js';
import { architectures } from './architectures.js';
import type { DecoderSource, SourceTensor } from './decoder-source.js';
import { SourceDecoder } from './source-decoder.js';

const sizes = {
  embedding_length: 8,
  block_count: 1,
  context_length: 64,
  feed_forward_length: 16,
  'attention.head_count': 2,
  'attention.layer_norm_rms_epsilon': 1e-5,
};

const dimensions: Record<string, number[]> = {
  'token_embd.weight': [8, 32],
  'output_norm.weight': [8],
  'blk.0.attn_norm.weight': [8],
  'blk.0.ffn_norm.weight': [8],
  'blk.0.attn_q.weight': [8, 8],
  'blk.0.attn_k.weight': [8, 8],
  'blk.0.attn_v.weight': [8, 8],
  'blk.0.attn_output.weight': [8, 8],
  'blk.0.ffn_gate.weight': [8, 16],
  'blk.0.ffn_up.weight': [8, 16],
  'blk.0.ffn_down.weight': [16, 8],
};

/** Reading a tensor fails: a checkpoint is judged by its settings and the sizes of its tensors. */
function tiny(
  settings: Record<string, GgufValue> = {},
  { architecture = 'llama', tensors = {} }: { architecture?: string; tensors?: Record<string, number[] | null> } = {},
): DecoderSource {
  const all = Object.entries({ ...dimensions, ...tensors }).flatMap(([name, size]): [string, SourceTensor][] =>
    size === null ? [] : [[name, { dimensions: size, rows: () => Promise.reject(new Error(`${name} was read`)) }]],
  );
  const parameters = new GgufMetadata('tiny.gguf', new Map(Object.entries({ ...sizes, ...settings })));
  return { fileName: 'tiny.gguf', architecture, parameters, tensors: new Map(all) };
}

describe('SourceDecoder', () => {
  it('accepts a checkpoint without reading a tensor', () => {
    const { shape } = SourceDecoder.open(tiny(), 32);
    expect(shape).toMatchObject({
      headSize: 4,
      keyValueHeads: 2,
      vocabularySize: 32,
      contextLength: 32,
      tiedHead: true,
    });
  });

  it('names the architectures that it knows', () => {
    const known = `its architecture is mamba; ${Object.keys(architectures).join(', ')} are converted`;
    expect(() => SourceDecoder.open(tiny({}, { architecture: 'mamba' }))).toThrow(known);
    expect(() => SourceDecoder.open(tiny({}, { architecture: 'toString' }))).toThrow('its architecture is toString;');
  });

  it.each<[Record<string, GgufValue>, string]>([
    [{ 'rope.scaling.type': 'ntk' }, '(`rope.scaling.type`) ntk is not converted; known are none, linear,'],
    [{ 'rope.scaling.type': 'dynamic' }, '`rope.scaling.factor` is missing'],
    [{ 'rope.scaling.type': 'longrope' }, 'longrope comes without its tensors of factors'],
    [{ 'rope.scaling.type': 'yarn' }, '`rope.scaling.original_context_length` is missing'],
    [{ 'attention.max_alibi_bias': 8 }, '`llama.attention.max_alibi_bias` is 8, which is not computed here'],
    [{ 'attention.causal': false }, '`llama.attention.causal` is false, which is not computed here'],
    [{ 'attention.value_length': 6 }, '`llama.attention.value_length` is 6 beside keys of 4'],
    [{ 'rope.dimension_count': 6 }, '2 heads of 4 with 2 key-value heads and 6 rotated dimensions do not fit'],
    [{ 'attention.head_count_kv': [1, 2] }, '`attention.head_count_kv` is unusable: a list'],
    // Lists with an entry per layer would take the memory of the process.
    [{ block_count: 2 ** 31 - 1 }, 'its block_count is 2147483647, more than 4096'],
    [{ hidden_activation: 'relu' }, 'its activation is relu; silu, gelu and gelu-tanh are computed'],
    [{ expert_count: 4, expert_used_count: 5 }, 'each token uses 5 of 4 experts'],
    [{ expert_count: 4, expert_used_count: 2 }, 'it has no tensor blk.0.ffn_gate_inp.weight'],
    [{ expert_count: 4, expert_used_count: 2, expert_group_count: 2 }, '`expert_group_used_count` is missing'],
    [
      { expert_count: 4, expert_used_count: 3, expert_group_count: 2, expert_group_used_count: 1 },
      '3 of its 4 experts come from 1 of 2 groups, which do not fit',
    ],
  ])('refuses %j and names the key', (settings, message) => {
    expect(() => SourceDecoder.open(tiny(settings))).toThrow(message);
  });

  const half = { block_count: 2, 'attention.head_count_kv': [0, 2] };
  const deltas = { block_count: 2, full_attention_interval: 2, 'ssm.group_count': 2, 'ssm.state_size': 4 };
  const mamba = { ...half, 'ssm.group_count': 2, 'ssm.state_size': 4, 'ssm.inner_size': 16, 'ssm.conv_kernel': 4 };
  it.each<[string, Record<string, GgufValue>, string]>([
    ['granitehybrid', { ...half, 'attention.head_count_kv': [0, 0] }, 'lists 0 for 2 layers'],
    ['granitehybrid', half, '`ssm.time_step_rank` is missing'],
    ['granitehybrid', { ...mamba, 'ssm.time_step_rank': 3 }, '3 Mamba heads in 2 groups do not fit 16 values'],
    ['granitehybrid', { ...mamba, 'ssm.time_step_rank': 32 }, '32 Mamba heads in 2 groups do not fit 16 values'],
    ['granitehybrid', { ...mamba, 'ssm.time_step_rank': 4 }, 'it has no tensor blk.0.ssm_in.weight'],
    [
      'lfm2',
      { ...half, 'attention.head_count_kv': [0, 1, 2] },
      'its `lfm2.attention.head_count_kv` lists 0, 1, 2 for 2 layers; one size, and 0 for layers that do not attend',
    ],
    ['mamba2', {}, '`ssm.time_step_rank` is missing'],
    ['mamba2', { ...mamba, 'ssm.time_step_rank': 4 }, 'it has no tensor blk.0.ssm_in.weight'],
    ['lfm2', { ...half, 'attention.head_count_kv': [0, -2] }, 'lists 0, -2 for 2 layers'],
    ['lfm2', { ...half, 'attention.head_count_kv': [0, 0] }, 'lists 0 for 2 layers'],
    ['lfm2', half, '`shortconv.l_cache` is missing'],
    ['lfm2', { ...half, 'shortconv.l_cache': 1 }, 'its `lfm2.shortconv.l_cache` is 1, less than 2'],
    ['lfm2', { ...half, 'shortconv.l_cache': 3 }, 'it has no tensor token_embd_norm.weight'],
    ['qwen35', {}, '0 of its 1 layers attend, of 1 listed'],
    ['qwen35', { 'attention.recurrent_layers': [] }, '0 of its 1 layers attend, of 0 listed'],
    ['qwen35', { ...deltas, 'ssm.time_step_rank': 5, 'ssm.inner_size': 40 }, '5 value heads of 40 values do not fit 2'],
    ['qwen35', { ...deltas, 'ssm.time_step_rank': 4, 'ssm.inner_size': 42 }, '4 value heads of 42 values do not fit 2'],
    ['qwen35', { ...deltas, 'ssm.time_step_rank': 4, 'ssm.inner_size': 16 }, '`ssm.conv_kernel` is missing'],
    ['qwen35', { nextn_predict_layers: 1 }, '1 of its 1 layers guess later tokens'],
  ])('refuses layers with a state of %s that do not fit: %j', (architecture, settings, message) => {
    expect(() => SourceDecoder.open(tiny(settings, { architecture }))).toThrow(message);
  });

  it.each<[Record<string, GgufValue>, string]>([
    [{}, '`rope.dimension_count` is missing'],
    [{ 'rope.dimension_count': 4 }, '`attention.key_length` is missing'],
    [{ 'rope.dimension_count': 4, 'attention.key_length': 4 }, 'its heads have 4 values, of which 4 rotate'],
    [{ 'rope.dimension_count': 4, 'attention.key_length': 12 }, '`attention.kv_lora_rank` is missing'],
  ])('refuses sizes of attention to latents that do not fit: %j', (settings, message) => {
    expect(() => SourceDecoder.open(tiny(settings, { architecture: 'deepseek2' }))).toThrow(message);
  });

  const latents = { 'rope.dimension_count': 4, 'attention.kv_lora_rank': 8, 'attention.q_lora_rank': 8 };
  const heads = { ...latents, 'attention.key_length': 12, 'attention.value_length': 8 };
  const counts = { 'attention.indexer.top_k': 4, 'attention.indexer.head_count': 2 };
  const indexer = { ...heads, ...counts, 'attention.indexer.key_length': 8 };
  it.each<[Record<string, GgufValue>, Record<string, number[]>, string]>([
    [heads, {}, '`attention.indexer.top_k` is missing'],
    [{ ...heads, ...counts }, {}, '`attention.indexer.key_length` is missing'],
    [{ ...indexer, 'attention.indexer.key_length': 2 }, {}, 'heads of 2 values, of which 4 rotate'],
    [indexer, {}, 'its indexer reads latents that it has not'],
    [indexer, { 'blk.0.attn_q_a.weight': [8, 8] }, 'its first layer has no indexer'],
  ])('refuses an indexer that does not fit: %j', (settings, tensors, message) => {
    expect(() => SourceDecoder.open(tiny(settings, { architecture: 'glm-dsa', tensors }))).toThrow(message);
  });

  it('has no indexer for a context in which it would choose every position', () => {
    const tensors = {
      ...{ 'blk.0.attn_q.weight': null, 'blk.0.attn_k.weight': null, 'blk.0.attn_v.weight': null },
      ...{ 'blk.0.attn_q_a.weight': [8, 8], 'blk.0.attn_q_a_norm.weight': [8], 'blk.0.attn_q_b.weight': [8, 24] },
      ...{
        'blk.0.attn_kv_a_mqa.weight': [8, 12],
        'blk.0.attn_kv_a_norm.weight': [8],
        'blk.0.attn_kv_b.weight': [8, 32],
      },
      ...{ 'blk.0.attn_output.weight': [16, 8], 'blk.0.indexer.attn_q_b.weight': [8, 16] },
      ...{ 'blk.0.indexer.attn_k.weight': [8, 8], 'blk.0.indexer.proj.weight': [8, 2] },
      ...{ 'blk.0.indexer.k_norm.weight': [8], 'blk.0.indexer.k_norm.bias': [8] },
    };
    const dense = { leading_dense_block_count: 1 };
    const source = (architecture: string) => tiny({ ...indexer, ...dense }, { architecture, tensors });
    const open = (architecture: string, contextLength: number) =>
      SourceDecoder.open(source(architecture), contextLength).shape.latent?.indexer;
    expect(open('glm-dsa', 5)).toEqual({ heads: 2, size: 8, topK: 4, interleaved: true, reuses: [false] });
    expect(open('deepseek32', 5)).toMatchObject({ interleaved: false });
    expect(open('glm-dsa', 4)).toBeUndefined();
    // The graph of embeddings has no choice of positions.
    const embedding = (contextLength: number) => SourceDecoder.open(source('glm-dsa'), contextLength, 'embedding');
    expect(() => embedding(5)).toThrow('whose layers attend to chosen positions; it can only write text here');
    expect(embedding(4).shape.headless).toBe(true);
    expect(() => open('deepseek2', 4)).toThrow('nothing here computes with: blk.0.indexer.attn_q_b.weight');
  });

  it('leaves out the layers that guess later tokens, and only those', () => {
    const tensors = { 'blk.1.attn_norm.weight': [8], 'blk.1.nextn.eh_proj.weight': [16, 8] };
    const guessing = tiny({ block_count: 2, nextn_predict_layers: 1 }, { tensors });
    expect(SourceDecoder.open(guessing).shape.layers).toBe(1);
    const lying = tiny({ block_count: 1 }, { tensors });
    expect(() => SourceDecoder.open(lying)).toThrow('nothing here computes with: blk.1.attn_norm.weight');
  });

  it('refuses experts of an architecture that has none', () => {
    const source = tiny({ expert_count: 4, expert_used_count: 2 }, { architecture: 'qwen2' });
    expect(() => SourceDecoder.open(source)).toThrow('it has 4 experts, which its architecture qwen2 has not here');
  });

  it.each<[Record<string, number[] | null>, string]>([
    [{ 'blk.0.ffn_down.weight': null }, 'it has no tensor blk.0.ffn_down.weight'],
    [{ 'blk.0.attn_k.weight': [8, 4] }, 'its tensor blk.0.attn_k.weight is 8 × 4, not 8 × 8'],
    [{ 'blk.0.attn_qkv.weight': [8, 20] }, 'its tensor blk.0.attn_qkv.weight is 8 × 20, not 8 × 24'],
    [{ 'blk.0.ffn_gate.weight': null }, 'its tensor blk.0.ffn_up.weight is 8 × 16, not 8 × 32'],
    [{ 'rope_freqs.weight': [4] }, 'its tensor rope_freqs.weight is 4, not 2'],
    [{ 'blk.0.attn_sinks.weight': [2] }, 'it has tensors that nothing here computes with: blk.0.attn_sinks.weight'],
  ])('refuses the tensors %j', (tensors, message) => {
    expect(() => SourceDecoder.open(tiny({}, { tensors }))).toThrow(message);
  });

  it('takes one number for equal numbers per layer', () => {
    expect(SourceDecoder.open(tiny({ 'attention.head_count_kv': [2, 2] })).shape.keyValueHeads).toBe(2);
  });

  it('has a window only where it hides something', () => {
    const window = (size: number) =>
      SourceDecoder.open(tiny({ 'attention.sliding_window': size })).shape.attention?.window?.size;
    expect([window(0), window(16), window(64)]).toEqual([undefined, 16, undefined]);
  });
});
