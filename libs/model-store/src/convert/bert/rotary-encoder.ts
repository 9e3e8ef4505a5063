import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { EncoderTensors } from './bert-files.js';
import { type EncoderExperts, emitEncoderExperts, expertTensors } from './encoder-experts.js';
import { emitEncoderHead, type EncoderHead } from './encoder-head.js';
import { type EncoderActivation, EncoderParts } from './encoder-parts.js';
import { emitDistances } from './token-distances.js';

/** A linear layer inside a tensor that may hold several. */
export interface PartName {
  /** Name without `.weight`. */
  name: string;
  /** First row as a multiple of the feed-forward size. */
  part?: number;
}

/** Names of tensors, without `.weight` and `.bias`. */
export interface RotaryNames {
  words: string;
  embeddingNorm: string;
  /** In front of the names of a layer. */
  layer: (layer: number) => string;
  /** Queries, keys and values one below the other. */
  projections: string;
  output: string;
  attentionNorm: string;
  /** The layer that goes through the activation, and the one that multiplies it; null: none does. */
  activated: PartName;
  multiplied: PartName | null;
  down: string;
  feedForwardNorm: string;
  /** Behind the last layer. */
  finalNorm: string | null;
}

/** Sizes and settings that determine the graph of an encoder with rotary positions. */
export interface RotaryShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  feedForwardSize: number;
  vocabularySize: number;
  /** Longest text in tokens. */
  positions: number;
  /** Name of the table of segment types, of which every token has the first; null: there is none. */
  typeTable: string | null;
  /** True if norms come before a layer, not behind it. */
  normsFirst: boolean;
  /** Base of the rotary frequencies, by layer. */
  bases: number[];
  /** A divisor of all frequencies; absent: 1. */
  frequencyDivisor?: number;
  /** How far a token looks to either side, by layer; null: everywhere. */
  windows: (number | null)[];
  epsilon: number;
  activation: EncoderActivation;
  /** Absent: no layer has experts. */
  experts?: EncoderExperts;
  names: RotaryNames;
}

export interface RotaryWeights {
  source: EncoderTensors;
  /** In front of all names of the encoder. */
  prefix: string;
}

/** Attention outside the window; also what the runtime gives padding. */
const masked = -10_000;

/**
 * Builds the encoder as one graph: `input_ids`, `attention_mask` to `last_hidden_state`, or with a head to `logits` or
 * `sentence_embedding`. Biases are added where the file has them.
 */
export function emitRotaryEncoder(
  shape: RotaryShape,
  weights: RotaryWeights,
  head: EncoderHead | null = null,
): OnnxGraph {
  const builder = new GraphBuilder('encoder');
  const sizes = ['batch', 'sequence'];
  const ids = builder.input('input_ids', 'int64', sizes);
  const mask = builder.input('attention_mask', 'int64', sizes);
  const output = head === null ? 'last_hidden_state' : undefined;
  if (output !== undefined) builder.output(output, 'float32', [...sizes, shape.hiddenSize]);
  const emitter = new RotaryEmitter(builder, shape, weights);
  const hidden = emitter.emit(ids, mask, output);
  if (head !== null) emitEncoderHead(emitter.parts, head, { hidden, mask, size: shape.hiddenSize });
  return builder.build();
}

/** What the layers of one graph share. */
interface SharedInputs {
  mask: ValueName;
  windows: ReadonlyMap<number, ValueName>;
  rotations: ReadonlyMap<number, [cosines: ValueName, sines: ValueName]>;
}

class RotaryEmitter {
  readonly parts: EncoderParts;

  constructor(
    private readonly builder: GraphBuilder,
    private readonly shape: RotaryShape,
    private readonly weights: RotaryWeights,
  ) {
    this.parts = new EncoderParts(builder, weights.source, shape.epsilon);
  }

  emit(ids: ValueName, mask: ValueName, output: string | undefined): ValueName {
    const { layers, bases, windows, names, normsFirst } = this.shape;
    const widths = [...new Set(windows)].filter((width) => width !== null);
    const shared: SharedInputs = {
      mask: this.parts.toInt32(mask),
      windows: new Map(widths.map((width) => [width, this.window(ids, width)])),
      rotations: new Map([...new Set(bases)].map((base, index) => [base, this.rotation(base, index)])),
    };
    let hidden = this.norm(this.embed(ids), names.embeddingNorm);
    for (let layer = 0; layer < layers; layer++) {
      const isLast = layer + 1 === layers && names.finalNorm === null;
      hidden = normsFirst
        ? this.layerWithNormsFirst(layer, hidden, shared)
        : this.layerWithNormsBehind(layer, hidden, { shared, output: isLast ? output : undefined });
    }
    return names.finalNorm === null ? hidden : this.norm(hidden, names.finalNorm, output);
  }

  private embed(ids: ValueName): ValueName {
    const { vocabularySize: rows, hiddenSize: columns, typeTable, names } = this.shape;
    const words = this.name(`${names.words}.weight`);
    return this.parts.embed(ids, { words, types: typeTable && this.name(`${typeTable}.weight`), rows, columns });
  }

  private layerWithNormsFirst(layer: number, input: ValueName, shared: SharedInputs): ValueName {
    const { names } = this.shape;
    const prefix = names.layer(layer);
    // The first layer has no norm of its own: the embeddings have one.
    const attentionNorm = prefix + names.attentionNorm;
    const normed = this.has(`${attentionNorm}.weight`) ? this.norm(input, attentionNorm) : input;
    const middle = this.builder.node('Add', [input, this.attention(layer, normed, shared)]);
    const through = this.feedForward(layer, this.norm(middle, prefix + names.feedForwardNorm));
    return this.builder.node('Add', [middle, through]);
  }

  private layerWithNormsBehind(
    layer: number,
    input: ValueName,
    { shared, output }: { shared: SharedInputs; output: string | undefined },
  ): ValueName {
    const { names } = this.shape;
    const prefix = names.layer(layer);
    const attended = this.builder.node('Add', [input, this.attention(layer, input, shared)]);
    const middle = this.norm(attended, prefix + names.attentionNorm);
    const sum = this.builder.node('Add', [middle, this.feedForward(layer, middle)]);
    return this.norm(sum, prefix + names.feedForwardNorm, output);
  }

  private attention(layer: number, input: ValueName, { mask, windows, rotations }: SharedInputs): ValueName {
    const { hiddenSize, heads, names, bases } = this.shape;
    const prefix = names.layer(layer);
    const [query, key, value] = [0, 1, 2].map((part) =>
      this.linear(input, {
        name: prefix + names.projections,
        inputs: hiddenSize,
        outputs: hiddenSize,
        fromRow: part * hiddenSize,
      }),
    ) as [ValueName, ValueName, ValueName];
    const tables = rotations.get(bases[layer] ?? 0) ?? ['', ''];
    const rotate = (each: ValueName): ValueName =>
      this.builder.contribNode('RotaryEmbedding', [each, this.builder.integers([0]), ...tables], {
        num_heads: heads,
        interleaved: 0,
      });
    const window = windows.get(this.shape.windows[layer] ?? -1);
    const inputs = [rotate(query), rotate(key), value, '', mask, ...(window === undefined ? [] : [window])];
    const mixed = this.builder.contribNode('MultiHeadAttention', inputs, { num_heads: heads });
    return this.linear(mixed, { name: prefix + names.output, inputs: hiddenSize, outputs: hiddenSize });
  }

  private feedForward(layer: number, input: ValueName): ValueName {
    const { hiddenSize, feedForwardSize, activation, names, experts } = this.shape;
    const prefix = names.layer(layer);
    if (experts?.layers[layer] === true) return this.expertLayer(layer, input, experts);
    const wide = ({ name, part }: PartName): ValueName =>
      this.linear(input, {
        name: prefix + name,
        inputs: hiddenSize,
        outputs: feedForwardSize,
        ...(part === undefined ? {} : { fromRow: part * feedForwardSize }),
      });
    const active = this.parts.activate(wide(names.activated), activation);
    const { multiplied } = names;
    const gated = multiplied === null ? active : this.builder.node('Mul', [active, wide(multiplied)]);
    return this.linear(gated, { name: prefix + names.down, inputs: feedForwardSize, outputs: hiddenSize });
  }

  private expertLayer(layer: number, input: ValueName, experts: EncoderExperts): ValueName {
    const { hiddenSize, feedForwardSize, activation, names } = this.shape;
    const { source, prefix } = this.weights;
    const tensors = expertTensors(prefix + names.layer(layer));
    const sizes = { experts, tensors, hiddenSize, feedForwardSize, activation };
    const isDownTurned = source.shapeOf(tensors.down).length === 3;
    return emitEncoderExperts(this.parts, layer, { ...sizes, isDownTurned, hasBias: source.has(tensors.bias) }, input);
  }

  /** Adds a linear layer with its bias, if it has one. */
  private linear(
    input: ValueName,
    { name, ...sizes }: { name: string; inputs: number; outputs: number; fromRow?: number },
  ): ValueName {
    const product = this.parts.linear(input, { name: this.name(`${name}.weight`), ...sizes });
    return this.has(`${name}.bias`) ? this.parts.bias(product, { name: this.name(`${name}.bias`), ...sizes }) : product;
  }

  private norm(input: ValueName, name: string, output?: string): ValueName {
    const hasBias = this.has(`${name}.bias`);
    return this.parts.layerNorm(input, { name: this.name(name), size: this.shape.hiddenSize, hasBias, output });
  }

  /** Adds what attention gets added: 0 within the window, `[1, 1, sequence, sequence]`. */
  private window(ids: ValueName, width: number): ValueName {
    const { builder } = this;
    const apart = builder.node('Abs', [emitDistances(builder, ids)]);
    const isOutside = builder.node('Greater', [apart, builder.integers(width)]);
    const outside = builder.node('Cast', [isOutside], { to: onnxDataTypeCode.float32 });
    const bias = builder.node('Mul', [outside, builder.float(masked)]);
    return builder.node('Unsqueeze', [bias, builder.integers([0, 1])]);
  }

  private rotation(base: number, index: number): [cosines: ValueName, sines: ValueName] {
    const { positions, hiddenSize, heads, frequencyDivisor = 1 } = this.shape;
    const half = hiddenSize / heads / 2;
    const table = (name: string, wave: (angle: number) => number): ValueName =>
      this.builder.weight(`rotary_${index}.${name}`, 'float32', [positions, half], () =>
        bytesOf(
          Float32Array.from({ length: positions * half }, (_, cell) =>
            wave((Math.floor(cell / half) * base ** (-(cell % half) / half)) / frequencyDivisor),
          ),
        ),
      );
    return [table('cosines', Math.cos), table('sines', Math.sin)];
  }

  private has(name: string): boolean {
    return this.weights.source.has(this.name(name));
  }

  private name(name: string): string {
    return this.weights.prefix + name;
  }
}
