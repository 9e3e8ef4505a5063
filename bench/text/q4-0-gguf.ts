import { readFile, rename } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { type GgufTensor, readGgufHeader } from './gguf-file.js';
import { interleavedSource, packQ40, packQ80 } from './gguf-blocks.js';
import { OnnxWeights } from './onnx-weights.js';

export interface Q40Options {
  /** GGUF that the model was converted from; its names, metadata and vocabulary are reused. */
  sourceFile: string;
  /** Folder of the model converted in blocks of 32. */
  modelFolder: string;
  outputFile: string;
}

const alignment = 32;
const types = { float32: 0, float16: 1, q40: 2, q80: 8 };

const parts: Record<string, string> = {
  attn_norm: 'attention_norm',
  attn_q: 'query',
  attn_k: 'key',
  attn_v: 'value',
  attn_output: 'attention_output',
  ffn_norm: 'feed_forward_norm',
  ffn_gate: 'gate',
  ffn_up: 'up',
  ffn_down: 'down',
};

const whole: Record<string, string> = { token_embd: 'embedding', output: 'head', output_norm: 'final_norm' };

/**
 * Writes the converted model back as a Q4_0 GGUF with the same codes, so that both runtimes compute with the same
 * weights.
 */
export async function writeQ40Gguf({ sourceFile, modelFolder, outputFile }: Q40Options): Promise<void> {
  const header = readGgufHeader(await readFile(sourceFile));
  const weights = await OnnxWeights.open(modelFolder);
  const config = JSON.parse(await readFile(join(modelFolder, 'config.json'), 'utf8')) as ModelConfig;
  const headSize = config.hidden_size / config.num_attention_heads;
  const tensors = header.tensors.map((tensor) => convertTensor(tensor, weights, headSize));
  const partial = `${outputFile}.partial`;
  const counts = [u64(tensors.length), u64(header.keyValueCount)];
  const infos = tensorInfos(header.tensors, tensors);
  const head = Buffer.concat([header.prefix, ...counts, header.keyValues, ...infos]);
  await writePieces(partial, [head, ...tensors.map(({ data }) => data)]);
  await rename(partial, outputFile);
}

interface ModelConfig {
  hidden_size: number;
  num_attention_heads: number;
}

interface TensorData {
  type: number;
  data: Uint8Array;
}

function convertTensor({ name, dimensions }: GgufTensor, weights: OnnxWeights, headSize: number): TensorData {
  const source = nameInGraph(name);
  const [columns = 0, rows = 0] = dimensions;
  const coded = weights.codedRows(source, columns, rows);
  if (coded === null) {
    const { data, kind } = weights.plain(source);
    return { type: types[kind], data };
  }
  if (coded.codes.length === rows * columns) return { type: types.q80, data: packQ80(coded) };
  const sourceRow = /attn_[qk]\./.test(name) ? interleavedSource(headSize) : (row: number) => row;
  return { type: types.q40, data: packQ40(coded, sourceRow) };
}

function nameInGraph(name: string): string {
  const [, layer, part] = /^blk\.(\d+)\.(\w+)\.weight$/.exec(name) ?? [];
  const found = layer === undefined ? whole[name.replace(/\.weight$/, '')] : `layers.${layer}.${parts[part ?? '']}`;
  if (found === undefined) throw new Error(`the graph has no weight for ${name}`);
  return found;
}

/** Entries of all tensors; offsets are relative to the first tensor's data. */
function tensorInfos(names: GgufTensor[], tensors: TensorData[]): Uint8Array[] {
  let offset = 0;
  return tensors.map(({ type, data }, index) => {
    const { name = '', dimensions = [] } = names[index] ?? {};
    const info = [u64(Buffer.byteLength(name)), Buffer.from(name), u32(dimensions.length), ...dimensions.map(u64)];
    const entry = Buffer.concat([...info, u32(type), u64(offset)]);
    offset += data.length + padding(data.length).length;
    return entry;
  });
}

/** Writes the pieces, each padded to the alignment. */
async function writePieces(path: string, pieces: Uint8Array[]): Promise<void> {
  const stream = createWriteStream(path);
  for (const piece of pieces) {
    stream.write(piece);
    if (!stream.write(padding(piece.length))) await once(stream, 'drain');
  }
  stream.end();
  await once(stream, 'close');
}

const padding = (length: number): Buffer => Buffer.alloc((alignment - (length % alignment)) % alignment);

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
