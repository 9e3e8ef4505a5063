import { halfSplitRows } from '../decoder/half-split-rows.js';
import { weightNames, type DecoderShape, type LayerPart } from '../decoder/decoder-shape.js';
import type { WeightSource } from '../decoder/weight-source.js';
import type { InputFile } from '../input-file.js';
import { invalidFile } from '../invalid-file.js';
import { dequantize } from './gguf-dequantize.js';
import { GgufMetadata } from './gguf-metadata.js';
import type { GgufHeader, GgufTensor } from './gguf-types.js';

interface Architecture {
  modelType: string;
  className: string;
  /** Whether queries and keys have the two values of a rotary pair side by side. */
  interleaved: boolean;
}

/** Supported `general.architecture` values, with defaults that the file may omit. */
const architectures: Record<string, Architecture> = {
  llama: { modelType: 'llama', className: 'LlamaForCausalLM', interleaved: true },
  qwen2: { modelType: 'qwen2', className: 'Qwen2ForCausalLM', interleaved: false },
  qwen3: { modelType: 'qwen3', className: 'Qwen3ForCausalLM', interleaved: false },
};

const layerTensors: Record<LayerPart, string> = {
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

/** Tensors that may be unused: rotary frequencies that follow from the metadata, and those that are read separately. */
const unneededTensors = /^rope_(?:freqs|factors_long|factors_short)\.weight$|\.attn_rot_embd(?:\.weight)?$/;
const maxNamed = 5;

/** Weights of a GGUF file under the emitters' names, dequantised on read. */
export class GgufDecoder implements WeightSource {
  private constructor(
    private readonly file: InputFile,
    private readonly header: GgufHeader,
    readonly architecture: Architecture,
    readonly shape: DecoderShape,
  ) {}

  /** `contextLength` shortens the file's own. */
  static async open(file: InputFile, header: GgufHeader, contextLength?: number): Promise<GgufDecoder> {
    const metadata = new GgufMetadata(file.name, header.metadata);
    const name = metadata.text('general.architecture');
    const architecture = Object.hasOwn(architectures, name) ? architectures[name] : undefined;
    if (!architecture) {
      const known = Object.keys(architectures).join(', ');
      throw invalidFile(file.name, `its architecture is ${name}; ${known} are converted`);
    }
    const frequencyFactors = await readFrequencyFactors(file, header, metadata, name);
    const shape = shapeOf(header, metadata, name, { contextLength, frequencyFactors });
    const decoder = new GgufDecoder(file, header, architecture, shape);
    decoder.checkTensors();
    return decoder;
  }

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const tensor = this.tensor(name);
    const columns = tensor.dimensions[0] ?? 1;
    const read = (first: number, last: number) => this.readRows(tensor, first, last);
    const isRotary = name.endsWith('.query') || name.endsWith('.key');
    if (!isRotary || !this.architecture.interleaved) return read(from, to);
    return halfSplitRows({ columns, headSize: this.shape.headSize, read }, from, to);
  }

  async vector(name: string): Promise<Float32Array> {
    const tensor = this.tensor(name);
    const values = dequantize(tensor.type, await this.file.read(tensor.offset, tensor.bytes));
    const isRotary = name.endsWith('.query.bias') || name.endsWith('.key.bias');
    if (!isRotary || !this.architecture.interleaved) return values;
    const read = (first: number, last: number) => Promise.resolve(values.subarray(first, last));
    return halfSplitRows({ columns: 1, headSize: this.shape.headSize, read }, 0, values.length);
  }

  private async readRows(tensor: GgufTensor, from: number, to: number): Promise<Float32Array> {
    const columns = tensor.dimensions[0] ?? 1;
    const rowBytes = (columns / tensor.type.values) * tensor.type.bytes;
    return dequantize(tensor.type, await this.file.read(tensor.offset + from * rowBytes, (to - from) * rowBytes));
  }

  private tensor(name: string): GgufTensor {
    const ggufName = tensorName(name, this.shape);
    const tensor = this.header.tensors.get(ggufName);
    if (!tensor) throw invalidFile(this.file.name, `it has no tensor ${ggufName}`);
    return tensor;
  }

  /** Checks before anything is written that no tensor is missing, of another size, or unused. */
  private checkTensors(): void {
    const unread = new Set(this.header.tensors.keys());
    for (const [name, dimensions] of expectedTensors(this.shape)) {
      const tensor = this.tensor(name);
      unread.delete(tensor.name);
      if (tensor.dimensions.join() === dimensions.join()) continue;
      const sizes = `its tensor ${tensor.name} is ${tensor.dimensions.join(' × ')}, not ${dimensions.join(' × ')}`;
      throw invalidFile(this.file.name, sizes);
    }
    const unused = [...unread].filter((name) => !unneededTensors.test(name));
    if (unused.length === 0) return;
    // For example a bias that the graph leaves out, or a gate of experts: the model would run with wrong results.
    const more = unused.length > maxNamed ? ` and ${unused.length - maxNamed} more` : '';
    const names = unused.slice(0, maxNamed).join(', ');
    throw invalidFile(this.file.name, `it has tensors that nothing here computes with: ${names}${more}`);
  }
}

function tensorName(name: string, shape: DecoderShape): string {
  if (name === weightNames.embedding) return 'token_embd.weight';
  if (name === weightNames.head) return shape.tiedHead ? 'token_embd.weight' : 'output.weight';
  if (name === weightNames.finalNorm) return 'output_norm.weight';
  const [, layer, part, bias] = name.split('.');
  return `blk.${layer}.${layerTensors[part as LayerPart]}.${bias ?? 'weight'}`;
}

function* expectedTensors(shape: DecoderShape): Generator<[name: string, dimensions: number[]]> {
  const { hiddenSize, heads, keyValueHeads, headSize, vocabularySize, feedForward, bias, queryKeyNorm } = shape;
  const queries = heads * headSize;
  const keys = keyValueHeads * headSize;
  yield [weightNames.embedding, [hiddenSize, vocabularySize]];
  yield [weightNames.head, [hiddenSize, vocabularySize]];
  yield [weightNames.finalNorm, [hiddenSize]];
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = (part: LayerPart) => weightNames.layer(layer, part);
    yield [name('attention_norm'), [hiddenSize]];
    yield [name('feed_forward_norm'), [hiddenSize]];
    yield [name('query'), [hiddenSize, queries]];
    yield [name('key'), [hiddenSize, keys]];
    yield [name('value'), [hiddenSize, keys]];
    yield [name('attention_output'), [queries, hiddenSize]];
    yield [name('gate'), [hiddenSize, feedForward.size]];
    yield [name('up'), [hiddenSize, feedForward.size]];
    yield [name('down'), [feedForward.size, hiddenSize]];
    if (bias.queryKeyValue) {
      yield [weightNames.bias(name('query')), [queries]];
      yield [weightNames.bias(name('key')), [keys]];
      yield [weightNames.bias(name('value')), [keys]];
    }
    if (queryKeyNorm) {
      yield [name('query_norm'), [headSize]];
      yield [name('key_norm'), [headSize]];
    }
  }
}

interface ShapeExtras {
  contextLength?: number;
  frequencyFactors?: Float32Array;
}

function shapeOf(header: GgufHeader, metadata: GgufMetadata, prefix: string, extras: ShapeExtras): DecoderShape {
  const hiddenSize = metadata.size(`${prefix}.embedding_length`);
  const heads = metadata.size(`${prefix}.attention.head_count`);
  const keyValueHeads = metadata.size(`${prefix}.attention.head_count_kv`, heads);
  const headSize = metadata.size(`${prefix}.attention.key_length`, hiddenSize / heads);
  const modelContext = metadata.size(`${prefix}.context_length`);
  const dimensions = metadata.size(`${prefix}.rope.dimension_count`, headSize);
  if (heads % keyValueHeads !== 0 || headSize % 2 !== 0 || dimensions > headSize) {
    throw invalidFile(
      metadata.fileName,
      `${heads} heads of ${headSize} with ${keyValueHeads} key-value heads do not fit`,
    );
  }
  return {
    layers: metadata.size(`${prefix}.block_count`),
    hiddenSize,
    heads,
    keyValueHeads,
    headSize,
    vocabularySize: header.tensors.get('token_embd.weight')?.dimensions[1] ?? 0,
    contextLength: Math.min(extras.contextLength ?? modelContext, modelContext),
    norm: { kind: 'rms', epsilon: metadata.number(`${prefix}.attention.layer_norm_rms_epsilon`) },
    rotary: {
      base: metadata.number(`${prefix}.rope.freq_base`, 10000),
      dimensions,
      frequencyFactors: extras.frequencyFactors,
    },
    feedForward: { kind: 'gated-silu', size: metadata.size(`${prefix}.feed_forward_length`) },
    queryKeyNorm: header.tensors.has('blk.0.attn_q_norm.weight'),
    bias: {
      queryKeyValue: header.tensors.has('blk.0.attn_q.bias'),
      attentionOutput: false,
      feedForward: false,
      head: false,
    },
    parallelResidual: false,
    tiedHead: !header.tensors.has('output.weight'),
  };
}

/** Returns the scaling of rotary frequencies: a tensor with a factor for each pair (Llama 3), or one factor for all. */
async function readFrequencyFactors(
  file: InputFile,
  header: GgufHeader,
  metadata: GgufMetadata,
  prefix: string,
): Promise<Float32Array | undefined> {
  const tensor = header.tensors.get('rope_freqs.weight');
  if (tensor) return dequantize(tensor.type, await file.read(tensor.offset, tensor.bytes));
  const kind = metadata.text(`${prefix}.rope.scaling.type`, 'none');
  if (kind === 'none') return undefined;
  if (kind !== 'linear') throw invalidFile(file.name, `its rotary scaling ${kind} is not converted`);
  const heads = metadata.size(`${prefix}.attention.head_count`);
  const headSize = metadata.size(`${prefix}.embedding_length`) / heads;
  const pairs = metadata.size(`${prefix}.rope.dimension_count`, headSize) / 2;
  return new Float32Array(pairs).fill(metadata.number(`${prefix}.rope.scaling.factor`, 1));
}
