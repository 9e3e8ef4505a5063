import { writeFile } from 'node:fs/promises';
import { productOf } from '#common/values';
import { encodeFloat16Array } from '#common';
import {
  ggufFloats,
  ggufInteger,
  ggufIntegers,
  type GgufPart,
  ggufText,
  ggufTexts,
  joinGguf,
} from '#test/tiny-models/gguf-parts';
import {
  type ArchitectureCase,
  convolutionTaps,
  deltaHeadSize,
  indexerSizes,
  latentSizes,
  mambaSizes,
  type ModelSize,
} from './cases.js';

/*
 * GGUF files of random weights in 4 bits (Q4_0), as a published file of the architecture has its tensors. Only the time
 * of a step matters, so all matrices share their random codes.
 */

const types = { float32: 0, q4: 2 } as const;
const q4 = { values: 32, bytes: 18 } as const;

export async function writeRandomGguf(path: string, model: ArchitectureCase, size: ModelSize): Promise<void> {
  const tensors = [...tensorsOf(model, size)].map(([name, dimensions]) => part(name, dimensions, size));
  await writeFile(path, joinGguf({ metadata: metadataOf(model, size), tensors }));
}

function metadataOf(model: ArchitectureCase, size: ModelSize): Map<string, Buffer> {
  const { architecture, keys = {}, feedForward = size.feedForward } = model;
  const epsilon = model.layerNorms === true ? 'attention.layer_norm_epsilon' : 'attention.layer_norm_rms_epsilon';
  const values: Record<string, number | string | number[]> = {
    context_length: size.contextLength,
    embedding_length: size.hidden,
    block_count: size.layers,
    feed_forward_length: feedForward,
    'attention.head_count': size.heads,
    'attention.head_count_kv': size.keyValueHeads,
    'attention.key_length': size.headSize,
    'attention.value_length': size.headSize,
    'rope.dimension_count': size.headSize,
    ...(model.experts && {
      expert_count: model.experts.count,
      expert_used_count: model.experts.used,
      expert_feed_forward_length: feedForward,
    }),
    ...keys,
  };
  const tokens = ['Ġ', ...Array.from({ length: 93 }, (_, index) => String.fromCharCode(33 + index)), 'th', '<|end|>'];
  return new Map([
    ['general.architecture', ggufText(architecture)],
    [`${architecture}.${epsilon}`, float(1e-5)],
    ...Object.entries(values).map(([key, value]) => [`${architecture}.${key}`, encoded(value)] as const),
    ['tokenizer.ggml.model', ggufText('gpt2')],
    ['tokenizer.ggml.pre', ggufText('default')],
    ['tokenizer.ggml.tokens', ggufTexts(tokens)],
    ['tokenizer.ggml.token_type', ggufIntegers(tokens.map((token) => (token === '<|end|>' ? 3 : 1)))],
    ['tokenizer.ggml.merges', ggufTexts(['t h'])],
    ['tokenizer.ggml.eos_token_id', ggufInteger(tokens.length - 1)],
  ]);
}

function encoded(value: number | string | number[]): Buffer {
  if (Array.isArray(value)) return ggufIntegers(value);
  if (typeof value === 'string') return ggufText(value);
  return Number.isInteger(value) ? ggufInteger(value) : float(value);
}

function float(value: number): Buffer {
  // A list of one number without its head: the head of a list is its own type, the type of its members, and their count.
  const list = ggufFloats([value]);
  return Buffer.concat([Buffer.from(Uint32Array.of(6).buffer), list.subarray(list.length - 4)]);
}

function* tensorsOf(model: ArchitectureCase, size: ModelSize): Generator<[string, number[]]> {
  const { hidden, vocabulary, layers } = size;
  yield ['token_embd.weight', [hidden, vocabulary]];
  yield ['output.weight', [hidden, vocabulary]];
  yield [`${model.finalNorm ?? 'output_norm'}.weight`, [hidden]];
  for (let layer = 0; layer < layers; layer++) {
    const first = model.mixer !== undefined && layer % 2 === 0 ? mixerOf(model, size) : attentionOf(model, size);
    for (const [name, dimensions] of [...normsOf(model, size), ...first, ...feedForwardOf(model, size)]) {
      yield [`blk.${layer}.${name}`, dimensions];
    }
  }
}

function* normsOf(model: ArchitectureCase, { hidden }: ModelSize): Generator<[string, number[]]> {
  for (const norm of model.norms ?? ['attn_norm', 'ffn_norm']) yield [`${norm}.weight`, [hidden]];
}

function* mixerOf({ mixer }: ArchitectureCase, { hidden }: ModelSize): Generator<[string, number[]]> {
  if (mixer === undefined) return;
  const taps = convolutionTaps[mixer];
  if (mixer === 'short-convolution') {
    yield ['shortconv.in_proj.weight', [hidden, 3 * hidden]];
    yield ['shortconv.conv.weight', [taps, hidden]];
    yield ['shortconv.out_proj.weight', [hidden, hidden]];
    return;
  }
  if (mixer === 'mamba') return yield* mambaOf(hidden, taps);
  const heads = hidden / deltaHeadSize;
  yield ['attn_qkv.weight', [hidden, 3 * hidden]];
  yield ['ssm_conv1d.weight', [taps, 3 * hidden]];
  yield ['attn_gate.weight', [hidden, hidden]];
  yield ['ssm_alpha.weight', [hidden, heads]];
  yield ['ssm_beta.weight', [hidden, heads]];
  yield ['ssm_dt.bias', [heads]];
  yield ['ssm_a', [heads]];
  yield ['ssm_norm.weight', [deltaHeadSize]];
  yield ['ssm_out.weight', [hidden, hidden]];
}

function* mambaOf(hidden: number, taps: number): Generator<[string, number[]]> {
  const width = 2 * hidden;
  const heads = width / mambaSizes.headSize;
  const channels = width + 2 * mambaSizes.stateSize;
  yield ['ssm_in.weight', [hidden, width + channels + heads]];
  yield ['ssm_conv1d.weight', [taps, channels]];
  yield ['ssm_conv1d.bias', [channels]];
  yield ['ssm_dt.bias', [heads]];
  yield ['ssm_a', [1, heads]];
  yield ['ssm_d', [1, heads]];
  yield ['ssm_norm.weight', [width, 1]];
  yield ['ssm_out.weight', [width, hidden]];
}

function* attentionOf(model: ArchitectureCase, size: ModelSize): Generator<[string, number[]]> {
  const { hidden, headSize, heads, keyValueHeads } = size;
  if (model.hasLatents) return yield* latentAttentionOf(model, size);
  const [query, keyValue] = [heads * headSize, keyValueHeads * headSize];
  if (model.isFused) yield ['attn_qkv.weight', [hidden, query + 2 * keyValue]];
  else {
    for (const [name, rows] of [
      ['attn_q', model.hasOutputGate ? 2 * query : query],
      ['attn_k', keyValue],
      ['attn_v', keyValue],
    ] as const) {
      yield [`${name}.weight`, [hidden, rows]];
      if (model.biases?.includes(name)) yield [`${name}.bias`, [rows]];
    }
  }
  yield ['attn_output.weight', [query, hidden]];
  if (model.biases?.includes('attn_output')) yield ['attn_output.bias', [hidden]];
  if (model.hasSinks) yield ['attn_sinks.weight', [heads]];
  const { queryKeyNorm } = model;
  if (queryKeyNorm === undefined) return;
  yield ['attn_q_norm.weight', queryKeyNorm === 'head' ? [headSize] : [query]];
  yield ['attn_k_norm.weight', queryKeyNorm === 'head' ? [headSize] : [keyValue]];
}

function* latentAttentionOf({ hasIndexer }: ArchitectureCase, size: ModelSize): Generator<[string, number[]]> {
  const { hidden, headSize, heads } = size;
  const { rank, queryRank, rotated } = latentSizes(size);
  const queries = heads * (headSize + rotated);
  if (hasIndexer) {
    yield ['attn_q_a.weight', [hidden, queryRank]];
    yield ['attn_q_a_norm.weight', [queryRank]];
    yield ['attn_q_b.weight', [queryRank, queries]];
    yield* indexerOf(hidden, queryRank);
  } else yield ['attn_q.weight', [hidden, queries]];
  yield ['attn_kv_a_mqa.weight', [hidden, rank + rotated]];
  yield ['attn_kv_a_norm.weight', [rank]];
  yield ['attn_k_b.weight', [headSize, rank, heads]];
  yield ['attn_v_b.weight', [rank, headSize, heads]];
  yield ['attn_output.weight', [heads * headSize, hidden]];
}

function* indexerOf(hidden: number, queryRank: number): Generator<[string, number[]]> {
  const { heads, headSize } = indexerSizes;
  yield ['indexer.attn_q_b.weight', [queryRank, heads * headSize]];
  yield ['indexer.attn_k.weight', [hidden, headSize]];
  yield ['indexer.k_norm.weight', [headSize]];
  yield ['indexer.k_norm.bias', [headSize]];
  yield ['indexer.proj.weight', [hidden, heads]];
}

function* feedForwardOf(model: ArchitectureCase, size: ModelSize): Generator<[string, number[]]> {
  const { hidden } = size;
  const { experts, feedForward = size.feedForward } = model;
  if (!experts) {
    if (!model.isFused) yield ['ffn_gate.weight', [hidden, feedForward]];
    yield ['ffn_up.weight', [hidden, model.isFused ? 2 * feedForward : feedForward]];
    yield ['ffn_down.weight', [feedForward, hidden]];
    return;
  }
  yield ['ffn_gate_inp.weight', [hidden, experts.count]];
  yield ['ffn_gate_exps.weight', [hidden, feedForward, experts.count]];
  yield ['ffn_up_exps.weight', [hidden, feedForward, experts.count]];
  yield ['ffn_down_exps.weight', [feedForward, hidden, experts.count]];
  if (experts.hasSelectionBias) yield ['exp_probs_b.bias', [experts.count]];
  if (experts.shared !== undefined) {
    for (const name of ['gate', 'up']) yield [`ffn_${name}_shexp.weight`, [hidden, experts.shared]];
    yield ['ffn_down_shexp.weight', [experts.shared, hidden]];
  }
  if (!experts.hasBias) return;
  yield ['ffn_gate_inp.bias', [experts.count]];
  for (const name of ['gate', 'up']) yield [`ffn_${name}_exps.bias`, [feedForward, experts.count]];
  yield ['ffn_down_exps.bias', [hidden, experts.count]];
}

function part(name: string, dimensions: number[], size: ModelSize): GgufPart {
  const values = productOf(dimensions);
  if (dimensions.length === 1 || name.endsWith('.bias') || /(?:conv|conv1d|ssm_norm)\.weight$|ssm_[ad]$/.test(name)) {
    const data = new Float32Array(values).fill(name.endsWith('norm.weight') ? 1 : 0.01);
    return { name, dimensions, type: types.float32, data: Buffer.from(data.buffer) };
  }
  const data = codes(size.hidden).subarray(0, (values / q4.values) * q4.bytes);
  if (data.length === (values / q4.values) * q4.bytes) return { name, dimensions, type: types.q4, data };
  throw new Error(`${name} is larger than the shared codes.`);
}

let shared: Buffer | null = null;
const sharedValues = 2 ** 28;

/** Blocks of random codes, whose scale gives sums of about one over `inputs` values. */
function codes(inputs: number): Buffer {
  if (shared !== null) return shared;
  const piece = Buffer.alloc(q4.bytes * 4099);
  let state = 1;
  for (let at = 0; at < piece.length; at++) piece[at] = (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24;
  const scale = encodeFloat16Array(Float32Array.of(1 / (4.6 * Math.sqrt(inputs))))[0] ?? 0;
  for (let at = 0; at < piece.length; at += q4.bytes) piece.writeUInt16LE(scale, at);
  return (shared = Buffer.alloc((sharedValues / q4.values) * q4.bytes, piece));
}
