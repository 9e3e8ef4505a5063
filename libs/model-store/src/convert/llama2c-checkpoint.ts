import type { DecoderShape, WeightSource } from './decoder/index.js';
import { halfSplitRows } from './decoder/half-split-rows.js';
import { weightNames } from './decoder/decoder-shape.js';
import type { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';

const headerIntegers = 7;
const headerBytes = headerIntegers * 4;
/** First word of the later versions ("ak42"). */
const laterVersionMagic = 0x616b3432;

interface Matrix {
  offset: number;
  columns: number;
  rows: number;
  interleaved: boolean;
}

/**
 * A llama2.c checkpoint of version 0: seven int32 (dim, hidden dim, layers, heads, key-value heads, vocabulary,
 * context; the vocabulary is negative when the output layer is not the embedding), then float32 weights, kind by kind
 * and layer by layer within a kind. Matrices are `[outputs, inputs]`, rotary pairs side by side.
 */
export class Llama2cCheckpoint implements WeightSource {
  private readonly matrices = new Map<string, Matrix>();
  private readonly vectors = new Map<string, { offset: number; size: number }>();
  /** End of the weights; in a bundle the tokenizer begins there. */
  readonly end: number;

  private constructor(
    private readonly file: InputFile,
    readonly shape: DecoderShape,
  ) {
    this.end = this.layOut();
  }

  static async open(file: InputFile): Promise<Llama2cCheckpoint> {
    if (file.bytes < headerBytes) throw invalidFile(file.name, 'it is too short for a llama2.c checkpoint');
    const header = new Int32Array((await file.read(0, headerBytes)).buffer);
    const checkpoint = new Llama2cCheckpoint(file, shapeOf(file, header));
    if (checkpoint.end > file.bytes) {
      const lengths = `its header asks for ${checkpoint.end} bytes and it has ${file.bytes}`;
      throw invalidFile(file.name, `${lengths}; it is cut short or no llama2.c checkpoint`);
    }
    return checkpoint;
  }

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const matrix = this.matrices.get(name);
    if (!matrix) throw new Error(`The checkpoint has no matrix ${name}.`);
    const { offset, columns, interleaved } = matrix;
    const read = (first: number, last: number) =>
      this.file.floats(offset + first * columns * 4, (last - first) * columns);
    return interleaved ? halfSplitRows({ columns, headSize: this.shape.headSize, read }, from, to) : read(from, to);
  }

  async vector(name: string): Promise<Float32Array> {
    const vector = this.vectors.get(name);
    if (!vector) throw new Error(`The checkpoint has no vector ${name}.`);
    return this.file.floats(vector.offset, vector.size);
  }

  private layOut(): number {
    const { layers, hiddenSize, heads, keyValueHeads, headSize, feedForward, vocabularySize } = this.shape;
    let offset = headerBytes;
    const matrix = (name: string, rows: number, columns: number, interleaved = false) => {
      this.matrices.set(name, { offset, rows, columns, interleaved });
      offset += rows * columns * 4;
    };
    const vector = (name: string, size: number) => {
      this.vectors.set(name, { offset, size });
      offset += size * 4;
    };
    const perLayer = (add: (layer: number) => void) => {
      for (let layer = 0; layer < layers; layer++) add(layer);
    };
    const name = weightNames.layer;
    matrix(weightNames.embedding, vocabularySize, hiddenSize);
    perLayer((layer) => vector(name(layer, 'attention_norm'), hiddenSize));
    perLayer((layer) => matrix(name(layer, 'query'), heads * headSize, hiddenSize, true));
    perLayer((layer) => matrix(name(layer, 'key'), keyValueHeads * headSize, hiddenSize, true));
    perLayer((layer) => matrix(name(layer, 'value'), keyValueHeads * headSize, hiddenSize));
    perLayer((layer) => matrix(name(layer, 'attention_output'), hiddenSize, heads * headSize));
    perLayer((layer) => vector(name(layer, 'feed_forward_norm'), hiddenSize));
    perLayer((layer) => matrix(name(layer, 'gate'), feedForward.size, hiddenSize));
    perLayer((layer) => matrix(name(layer, 'down'), hiddenSize, feedForward.size));
    perLayer((layer) => matrix(name(layer, 'up'), feedForward.size, hiddenSize));
    vector(weightNames.finalNorm, hiddenSize);
    // Rotary tables of older writers; the graph has its own.
    offset += this.shape.contextLength * headSize * 4;
    const embedding = this.matrices.get(weightNames.embedding);
    if (this.shape.tiedHead && embedding) this.matrices.set(weightNames.head, embedding);
    else matrix(weightNames.head, vocabularySize, hiddenSize);
    return offset;
  }
}

function shapeOf(file: InputFile, header: Int32Array): DecoderShape {
  if (header[0] === laterVersionMagic) {
    throw invalidFile(file.name, 'it is a llama2.c checkpoint of a later version; version 0 is needed');
  }
  const [hiddenSize = 0, hidden = 0, layers = 0, heads = 0, keyValueHeads = 0, signed = 0, contextLength = 0] = header;
  const vocabularySize = Math.abs(signed);
  const sizes = { hiddenSize, hidden, layers, heads, keyValueHeads, vocabularySize, contextLength };
  for (const [name, size] of Object.entries(sizes)) {
    if (size < 1 || size > 1 << 20) throw invalidFile(file.name, `no llama2.c checkpoint has ${name} ${size}`);
  }
  const headSize = hiddenSize / heads;
  if (headSize % 2 !== 0 || heads % keyValueHeads !== 0) {
    throw invalidFile(file.name, `${heads} heads and ${keyValueHeads} key-value heads do not fit ${hiddenSize} values`);
  }
  return {
    layers,
    hiddenSize,
    heads,
    keyValueHeads,
    headSize,
    vocabularySize,
    contextLength,
    norm: { kind: 'rms', epsilon: 1e-5 },
    rotary: { base: 10000, dimensions: headSize },
    feedForward: { kind: 'gated-silu', size: hidden },
    queryKeyNorm: 'none',
    bias: { queryKeyValue: false, attentionOutput: false, feedForward: false, head: false },
    parallelResidual: false,
    tiedHead: signed > 0,
  };
}
