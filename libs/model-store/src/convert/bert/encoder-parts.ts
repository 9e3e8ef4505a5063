import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { bytesOf, type GraphBuilder, type ValueName } from '../../onnx/index.js';
import { embeddingContent, emitLinear, vectorContent, type WeightSource } from '../decoder/index.js';

export type EncoderActivation = 'gelu' | 'gelu-tanh' | 'silu' | 'tanh';

/** A weight `[outputs, inputs]`, or rows of one that holds several. */
export interface EncoderLayer {
  name: string;
  inputs: number;
  outputs: number;
  /** First row; the name of the tensor in the graph then has it as a suffix. */
  fromRow?: number;
}

const rootOfTwo = Math.SQRT2;

/** Layers that the graphs of all encoders are made of. Weights are stored as float32. */
export class EncoderParts {
  constructor(
    readonly builder: GraphBuilder,
    readonly source: WeightSource,
    private readonly epsilon: number,
  ) {}

  linear(input: ValueName, { name, inputs, outputs, fromRow }: EncoderLayer): ValueName {
    const { builder, source } = this;
    if (fromRow === undefined)
      return emitLinear(builder, source, { kind: 'float32' }, input, { name, inputs, outputs });
    const rows: WeightSource = {
      rows: (_name, from, to) => source.rows(name, fromRow + from, fromRow + to),
      vector: () => source.vector(name),
    };
    return emitLinear(builder, rows, { kind: 'float32' }, input, { name: `${name}.${fromRow}`, inputs, outputs });
  }

  /** Adds a bias, or values of one from `fromRow`. */
  bias(input: ValueName, { name, outputs, fromRow }: Omit<EncoderLayer, 'inputs'>): ValueName {
    if (fromRow === undefined) return this.builder.node('Add', [input, this.vector(name, outputs)]);
    const { source } = this;
    const part = this.builder.weight(`${name}.${fromRow}`, 'float32', [outputs], async function* () {
      yield bytesOf((await source.vector(name)).slice(fromRow, fromRow + outputs));
    });
    return this.builder.node('Add', [input, part]);
  }

  /**
   * Adds `(x - mean) / sqrt(sum((x - mean)²) / n + epsilon) * gain + bias`, with the root of `n` moved into the gain.
   * Single operators cost less than half of the runtime's own kernel, which adds up number by number. This saves a
   * tenth of a run.
   */
  layerNorm(
    input: ValueName,
    { name, size, hasBias = true, output }: { name: string; size: number; hasBias?: boolean; output?: string },
  ): ValueName {
    const { builder } = this;
    const overHidden = { axes: [-1], keepdims: 1 };
    const centred = builder.node('Sub', [input, builder.node('ReduceMean', [input], overHidden)]);
    const squares = builder.node('ReduceSumSquare', [centred], overHidden);
    const norm = builder.node('Sqrt', [builder.node('Add', [squares, builder.float(size * this.epsilon)])]);
    const scaled = builder.node('Mul', [centred, builder.node('Reciprocal', [norm])]);
    const gain = this.rootedGain(`${name}.weight`, size);
    if (!hasBias) return builder.node('Mul', [scaled, gain], {}, output);
    const gained = builder.node('Mul', [scaled, gain]);
    return builder.node('Add', [gained, this.vector(`${name}.bias`, size)], {}, output);
  }

  activate(input: ValueName, activation: EncoderActivation): ValueName {
    const { builder } = this;
    if (activation === 'tanh') return builder.node('Tanh', [input]);
    if (activation === 'silu') return builder.node('Mul', [input, builder.node('Sigmoid', [input])]);
    if (activation === 'gelu-tanh') return builder.contribNode('FastGelu', [input]);
    const error = builder.node('Erf', [builder.node('Mul', [input, builder.float(1 / rootOfTwo)])]);
    const halved = builder.node('Mul', [input, builder.float(0.5)]);
    return builder.node('Mul', [halved, builder.node('Add', [error, builder.float(1)])]);
  }

  vector(name: string, size: number): ValueName {
    return this.builder.weight(name, 'float32', [size], vectorContent(this.source, 'float32', name));
  }

  table(name: string, rows: number, columns: number): ValueName {
    const layer = { name, inputs: columns, outputs: rows };
    return this.builder.weight(name, 'float32', [rows, columns], embeddingContent(this.source, 'float32', layer));
  }

  /** Adds the rows of tokens, and the first row of a table of segment types, of which every token is. */
  embed(
    ids: ValueName,
    { words, types, rows, columns }: { words: string; types: string | null; rows: number; columns: number },
  ): ValueName {
    const { builder, source } = this;
    const embedded = builder.node('Gather', [this.table(words, rows, columns), ids]);
    if (types === null) return embedded;
    const type = builder.weight(`${types}.first`, 'float32', [columns], async function* () {
      yield bytesOf(await source.rows(types, 0, 1));
    });
    return builder.node('Add', [embedded, type]);
  }

  toInt32(value: ValueName): ValueName {
    return this.builder.node('Cast', [value], { to: onnxDataTypeCode.int32 });
  }

  private rootedGain(name: string, size: number): ValueName {
    const { source } = this;
    return this.builder.weight(`${name}.rooted`, 'float32', [size], async function* () {
      const gain = await source.vector(name);
      yield bytesOf(gain.map((value) => value * Math.sqrt(size)));
    });
  }
}
