import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { copyTinyDecoder, tinyDecoderConfig } from '#test/tiny-decoders';
import { ggufFloats, ggufHeader, ggufInteger, ggufIntegers, ggufTexts, splitGguf } from '#test/tiny-models/gguf-parts';
import { ggufFile, sentencePieces } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';

/*
 * Checkpoints of the `llama` architecture with real headers whose weights are a hole: of any size, without taking space
 * on the disk.
 */

export interface SparseShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  keyValueHeads: number;
  feedForwardSize: number;
  vocabularySize: number;
}

interface SparseTensor {
  gguf: string;
  hub: string;
  rows: number;
  columns: number;
}

/** The tensors of a shape, in order; vectors have no rows. */
function tensorsOf(shape: SparseShape): SparseTensor[] {
  const { hiddenSize, heads, keyValueHeads, feedForwardSize, vocabularySize, layers } = shape;
  const keys = (hiddenSize / heads) * keyValueHeads;
  const tensor = (gguf: string, hub: string, rows: number, columns = hiddenSize) => ({ gguf, hub, rows, columns });
  const layer = (index: number): SparseTensor[] =>
    [
      tensor('attn_norm', 'input_layernorm', 0),
      tensor('attn_q', 'self_attn.q_proj', hiddenSize),
      tensor('attn_k', 'self_attn.k_proj', keys),
      tensor('attn_v', 'self_attn.v_proj', keys),
      tensor('attn_output', 'self_attn.o_proj', hiddenSize),
      tensor('ffn_norm', 'post_attention_layernorm', 0),
      tensor('ffn_gate', 'mlp.gate_proj', feedForwardSize),
      tensor('ffn_up', 'mlp.up_proj', feedForwardSize),
      tensor('ffn_down', 'mlp.down_proj', hiddenSize, feedForwardSize),
    ].map((part) => ({ ...part, gguf: `blk.${index}.${part.gguf}`, hub: `model.layers.${index}.${part.hub}` }));
  return [
    tensor('token_embd', 'model.embed_tokens', vocabularySize),
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
    tensor('output_norm', 'model.norm', 0),
    tensor('output', 'lm_head', vocabularySize),
  ];
}

/** Writes `model.safetensors` in bfloat16 or float32 and the files beside it. Returns the bytes of the weights. */
export async function writeSparseSafetensors(
  folder: string,
  shape: SparseShape,
  dtype: 'BF16' | 'F32',
  contextLength = 256,
): Promise<number> {
  await copyTinyDecoder('llama', folder);
  const config = {
    ...(await tinyDecoderConfig('llama')),
    num_hidden_layers: shape.layers,
    hidden_size: shape.hiddenSize,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyValueHeads,
    head_dim: shape.hiddenSize / shape.heads,
    intermediate_size: shape.feedForwardSize,
    vocab_size: shape.vocabularySize,
    max_position_embeddings: contextLength,
    tie_word_embeddings: false,
    rope_parameters: { rope_type: 'default', rope_theta: 10_000 },
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  const valueBytes = dtype === 'F32' ? 4 : 2;
  const list: Record<string, object> = {};
  let end = 0;
  for (const { hub, rows, columns } of tensorsOf(shape)) {
    const start = end;
    end += Math.max(rows, 1) * columns * valueBytes;
    const sizes = rows === 0 ? [columns] : [rows, columns];
    list[`${hub}.weight`] = { dtype, shape: sizes, data_offsets: [start, end] };
  }
  const header = Buffer.from(JSON.stringify(list));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeHole(join(folder, 'model.safetensors'), Buffer.concat([length, header]), end);
  return end;
}

const float32Type = 0;

/** Writes `model.gguf` in float32. Returns the bytes of the weights. */
export async function writeSparseGguf(folder: string, shape: SparseShape): Promise<number> {
  const tiny = tinyDecoder('llama', 1);
  const { metadata } = splitGguf(await ggufFile(tiny));
  const sizes = {
    block_count: shape.layers,
    embedding_length: shape.hiddenSize,
    feed_forward_length: shape.feedForwardSize,
    'attention.head_count': shape.heads,
    'attention.head_count_kv': shape.keyValueHeads,
    'attention.key_length': shape.hiddenSize / shape.heads,
  };
  for (const [key, size] of Object.entries(sizes)) metadata.set(`llama.${key}`, ggufInteger(size));
  const { pieces, scores } = sentencePieces(tiny);
  const more = Array.from({ length: shape.vocabularySize - pieces.length }, (_, index) => `<unused ${index}>`);
  metadata.set('tokenizer.ggml.tokens', ggufTexts([...pieces, ...more]));
  metadata.set('tokenizer.ggml.scores', ggufFloats([...scores, ...more.map(() => -1e6)]));
  const types = metadata.get('tokenizer.ggml.token_type') ?? Buffer.alloc(0);
  // Behind the type of the value, of its entries, and their number.
  const known = Array.from(pieces, (_, id) => types.readInt32LE(16 + 4 * id));
  metadata.set('tokenizer.ggml.token_type', ggufIntegers([...known, ...more.map(() => 1)]));
  const tensors = tensorsOf(shape).map(({ gguf, rows, columns }) => ({
    name: `${gguf}.weight`,
    dimensions: rows === 0 ? [columns] : [columns, rows],
    type: float32Type,
    bytes: Math.max(rows, 1) * columns * 4,
  }));
  const bytes = tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
  await writeHole(join(folder, 'model.gguf'), ggufHeader(metadata, tensors), bytes);
  return bytes;
}

async function writeHole(path: string, header: Buffer, bytes: number): Promise<void> {
  const handle = await open(path, 'w');
  try {
    await handle.write(header);
    await handle.truncate(header.length + bytes);
  } finally {
    await handle.close();
  }
}
