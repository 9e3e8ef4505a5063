import { weightNames, type DecoderShape, type LayerPart, type WeightSource } from '#model-store';
import type { TinyDecoder } from './tiny-shapes.js';

/*
 * Tiny models in the source formats of the converters, with the same weights as `buildTinyModel`, so that a converted
 * model can be compared with the original.
 */

/** `model.bin` (version 0) and `tokenizer.bin` of llama2.c. Requires the `llama` shape. */
export async function llama2cFiles(decoder: TinyDecoder): Promise<{ checkpoint: Buffer; tokenizer: Buffer }> {
  const { shape, weights } = decoder;
  const { layers, hiddenSize, heads, keyValueHeads, headSize, feedForward, vocabularySize, contextLength } = shape;
  const header = [hiddenSize, feedForward.size, layers, heads, keyValueHeads, -vocabularySize, contextLength];
  const pieces: ArrayBufferView[] = [Int32Array.from(header)];
  pieces.push(await weights.rows(weightNames.embedding, 0, vocabularySize));
  const order: LayerPart[] = ['attention_norm', 'query', 'key', 'value', 'attention_output', 'feed_forward_norm'];
  for (const part of [...order, 'gate', 'down', 'up'] as LayerPart[]) {
    for (let layer = 0; layer < layers; layer++) pieces.push(await interleavedPart(shape, weights, layer, part));
  }
  pieces.push(await weights.vector(weightNames.finalNorm));
  pieces.push(new Float32Array(contextLength * headSize));
  pieces.push(await weights.rows(weightNames.head, 0, vocabularySize));
  return { checkpoint: joined(pieces), tokenizer: llama2cTokenizer(decoder) };
}

function joined(pieces: ArrayBufferView[]): Buffer {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)));
}

/** Pieces in id order; their scores encode the merge order. */
export function sentencePieces({ tokenizer }: TinyDecoder): { pieces: string[]; scores: number[] } {
  const model = tokenizer.tokenizerJson.model as { vocab: Record<string, number>; merges: string[] };
  const pieces: string[] = [];
  for (const [piece, id] of Object.entries(model.vocab)) pieces[id] = piece;
  const ranks = new Map(model.merges.map((merge, rank) => [merge.replace(' ', ''), rank]));
  return { pieces, scores: pieces.map((piece) => (ranks.has(piece) ? -(ranks.get(piece) ?? 0) : -1e6)) };
}

function llama2cTokenizer(decoder: TinyDecoder): Buffer {
  const { pieces, scores } = sentencePieces(decoder);
  const longest = Buffer.alloc(4);
  longest.writeInt32LE(Math.max(...pieces.map((piece) => Buffer.byteLength(piece))));
  const entries = pieces.map((piece, id) => {
    const text = Buffer.from(piece.replaceAll('▁', ' '));
    const head = Buffer.alloc(8);
    head.writeFloatLE(scores[id] ?? 0, 0);
    head.writeInt32LE(text.length, 4);
    return Buffer.concat([head, text]);
  });
  return Buffer.concat([longest, ...entries]);
}

const partNames: Partial<Record<LayerPart, string>> = {
  attention_norm: 'attn_norm',
  query: 'attn_q',
  key: 'attn_k',
  value: 'attn_v',
  query_norm: 'attn_q_norm',
  key_norm: 'attn_k_norm',
  attention_output: 'attn_output',
  feed_forward_norm: 'ffn_norm',
  gate: 'ffn_gate',
  up: 'ffn_up',
  down: 'ffn_down',
};

/** A GGUF file (version 3, float32 tensors) of the `llama` or the `qwen` shape, with `more` tensors at its end. */
export async function ggufFile(decoder: TinyDecoder, more: readonly PlainTensor[] = []): Promise<Buffer> {
  const isLlama = decoder.config.model_type === 'llama';
  const tensors = [...(await ggufTensors(decoder, isLlama)), ...more];
  const metadata = ggufMetadata(decoder, isLlama ? 'llama' : 'qwen3');
  const count = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes;
  };
  const integer = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
  const text = (value: string) => Buffer.concat([count(Buffer.byteLength(value)), Buffer.from(value)]);
  const encode = (value: MetadataValue): Buffer => {
    if (typeof value === 'string') return Buffer.concat([integer(8), text(value)]);
    if (typeof value === 'number') return Buffer.concat([integer(4), integer(value)]);
    if ('float' in value) return Buffer.concat([integer(6), Buffer.from(Float32Array.of(value.float).buffer)]);
    if ('texts' in value) {
      return Buffer.concat([integer(9), integer(8), count(value.texts.length), ...value.texts.map(text)]);
    }
    const list = 'floats' in value ? Float32Array.from(value.floats) : Int32Array.from(value.integers);
    const type = 'floats' in value ? 6 : 5;
    return Buffer.concat([integer(9), integer(type), count(list.length), Buffer.from(list.buffer)]);
  };
  const head: Uint8Array[] = [
    Buffer.from('GGUF'),
    integer(3),
    count(tensors.length),
    count(Object.keys(metadata).length),
  ];
  for (const [key, value] of Object.entries(metadata)) head.push(text(key), encode(value));
  let offset = 0;
  for (const { name, dimensions, values } of tensors) {
    head.push(text(name), integer(dimensions.length), ...dimensions.map(count), integer(0), count(offset));
    offset += padded(values.byteLength);
  }
  const data = tensors.map(({ values }) => {
    const bytes = Buffer.alloc(padded(values.byteLength));
    Buffer.from(values.buffer, values.byteOffset, values.byteLength).copy(bytes);
    return bytes;
  });
  const header = Buffer.concat(head);
  return Buffer.concat([header, Buffer.alloc(padded(header.length) - header.length), ...data]);
}

const padded = (bytes: number) => Math.ceil(bytes / 32) * 32;

type MetadataValue =
  string | number | { float: number } | { texts: string[] } | { floats: number[] } | { integers: number[] };

function ggufMetadata(decoder: TinyDecoder, architecture: string): Record<string, MetadataValue> {
  const { shape, tokenizer } = decoder;
  const model = tokenizer.tokenizerJson.model as { vocab: Record<string, number>; merges: string[] };
  const { pieces, scores } = sentencePieces(decoder);
  const added = tokenizer.tokenizerJson.added_tokens as { id: number }[];
  const outside = new Set(added.map((token) => token.id));
  const bytes = new Set(tokenizer.byteIds);
  const typeOf = (id: number) => (outside.has(id) ? 3 : architecture === 'llama' && bytes.has(id) ? 6 : 1);
  const key = (name: string) => `${architecture}.${name}`;
  const common: Record<string, MetadataValue> = {
    'general.architecture': architecture,
    [key('embedding_length')]: shape.hiddenSize,
    [key('block_count')]: shape.layers,
    [key('context_length')]: shape.contextLength,
    [key('feed_forward_length')]: shape.feedForward.size,
    [key('attention.head_count')]: shape.heads,
    [key('attention.head_count_kv')]: shape.keyValueHeads,
    [key('attention.key_length')]: shape.headSize,
    [key('attention.layer_norm_rms_epsilon')]: { float: shape.norm.epsilon },
    [key('rope.freq_base')]: { float: shape.rotary.base },
    'tokenizer.ggml.tokens': { texts: pieces },
    'tokenizer.ggml.token_type': { integers: pieces.map((_, id) => typeOf(id)) },
    'tokenizer.ggml.eos_token_id': tokenizer.eosTokenIds[0] ?? 0,
    'tokenizer.chat_template': tokenizer.tokenizerConfig.chat_template as string,
  };
  if (architecture === 'llama') {
    const own = { 'tokenizer.ggml.bos_token_id': 1, 'tokenizer.ggml.unknown_token_id': 0 };
    return { ...common, ...own, 'tokenizer.ggml.model': 'llama', 'tokenizer.ggml.scores': { floats: scores } };
  }
  return { ...common, 'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.merges': { texts: model.merges } };
}

export interface PlainTensor {
  name: string;
  dimensions: number[];
  values: Float32Array;
}

async function ggufTensors({ shape, weights }: TinyDecoder, interleaved: boolean): Promise<PlainTensor[]> {
  const { hiddenSize, vocabularySize, layers, tiedHead } = shape;
  const table = async (name: string, weight: string): Promise<PlainTensor> => ({
    name,
    dimensions: [hiddenSize, vocabularySize],
    values: await weights.rows(weight, 0, vocabularySize),
  });
  const vector = async (name: string, weight: string): Promise<PlainTensor> => {
    const values = await weights.vector(weight);
    return { name, dimensions: [values.length], values };
  };
  const tensors = [await table('token_embd.weight', weightNames.embedding)];
  if (!tiedHead) tensors.push(await table('output.weight', weightNames.head));
  tensors.push(await vector('output_norm.weight', weightNames.finalNorm));
  const headNorms: LayerPart[] = ['query_norm', 'key_norm'];
  for (let layer = 0; layer < layers; layer++) {
    for (const part of Object.keys(partNames) as LayerPart[]) {
      if (headNorms.includes(part) && shape.queryKeyNorm === 'none') continue;
      const name = `blk.${layer}.${partNames[part]}`;
      const weight = weightNames.layer(layer, part);
      const values = interleaved
        ? await interleavedPart(shape, weights, layer, part)
        : await plainPart(shape, weights, layer, part);
      const rows = rowsOf(shape, part);
      const dimensions = rows === null ? [values.length] : [values.length / rows, rows];
      tensors.push({ name: `${name}.weight`, dimensions, values });
      if (shape.bias.queryKeyValue && ['query', 'key', 'value'].includes(part)) {
        const bias = await vector(`${name}.bias`, weightNames.bias(weight));
        const isRotary = interleaved && part !== 'value';
        tensors.push(isRotary ? { ...bias, values: interleavedRows(bias.values, 1, shape.headSize) } : bias);
      }
    }
  }
  return tensors;
}

/** Null for vectors. */
function rowsOf(shape: DecoderShape, part: LayerPart): number | null {
  if (part.endsWith('_norm')) return null;
  if (part === 'query') return shape.heads * shape.headSize;
  if (part === 'key' || part === 'value') return shape.keyValueHeads * shape.headSize;
  return part === 'gate' || part === 'up' ? shape.feedForward.size : shape.hiddenSize;
}

async function plainPart(shape: DecoderShape, weights: WeightSource, layer: number, part: LayerPart) {
  const rows = rowsOf(shape, part);
  const name = weightNames.layer(layer, part);
  return rows === null ? weights.vector(name) : weights.rows(name, 0, rows);
}

/** Like `plainPart`, but with interleaved rotary pairs in queries and keys. */
async function interleavedPart(shape: DecoderShape, weights: WeightSource, layer: number, part: LayerPart) {
  const values = await plainPart(shape, weights, layer, part);
  if (part !== 'query' && part !== 'key') return values;
  return interleavedRows(values, shape.hiddenSize, shape.headSize);
}

function interleavedRows(values: Float32Array, columns: number, headSize: number): Float32Array {
  const result = new Float32Array(values.length);
  for (let row = 0; row < values.length / columns; row++) {
    const inHead = row % headSize;
    const target = row - inHead + (inHead < headSize / 2 ? 2 * inHead : 2 * (inHead - headSize / 2) + 1);
    result.set(values.subarray(row * columns, (row + 1) * columns), target * columns);
  }
  return result;
}

export interface StoredBytes {
  dtype: string;
  shape: number[];
  bytes: Buffer;
}

/** A `.safetensors` file with the tensors one after another. */
export function safetensorsFile(tensors: Record<string, StoredBytes>): Buffer {
  let end = 0;
  const list = Object.entries(tensors).map(([name, { dtype, shape, bytes }]) => {
    const start = end;
    end += bytes.length;
    return [name, { dtype, shape, data_offsets: [start, end] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(list)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, ...Object.values(tensors).map(({ bytes }) => bytes)]);
}
