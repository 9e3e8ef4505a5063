import { bytesOf, type ValueName } from '../../onnx/index.js';
import { type LatentShape, type LayerPart, weightNames } from './decoder-shape.js';
import { emitIndex, type IndexProjections } from './indexer.js';
import type { MixerBody } from './mixer-body.js';
import type { WeightSource } from './weight-source.js';

/**
 * Attends with queries `[batch, sequence, heads * headSize]` to one head whose keys are its values too. Returns
 * `[batch, sequence, heads * headSize]`.
 */
export type AttendLatents = (projections: { query: ValueName; key: ValueName; index?: IndexProjections }) => ValueName;

/**
 * Adds multi-head latent attention in its absorbed form: the matrix of a head's keys is applied to its queries, and that of
 * its values to what it attends to. A key is the part that rotates, then the latent.
 */
export class LatentLayers {
  /** `[batch, sequence, width]` by width. */
  private readonly outerShapes = new Map<number, ValueName>();

  constructor(
    private readonly body: MixerBody,
    private readonly latent: LatentShape,
  ) {}

  /** Adds the layer for the input `[batch, sequence, hidden]`, with its output layer. */
  emit(layer: number, input: ValueName, attend: AttendLatents): ValueName {
    const { heads, hiddenSize } = this.body.options.shape;
    const narrow = this.emitNarrowQuery(layer, input);
    const { indexer } = this.latent;
    const context = attend({
      query: this.emitQuery(layer, narrow),
      key: this.emitKey(layer, input),
      ...(indexer && !indexer.reuses[layer] && { index: emitIndex(this.body, layer, indexer, { input, narrow }) }),
    });
    const width = heads * this.latent.valueSize;
    const output = { name: weightNames.layer(layer, 'attention_output'), inputs: width, outputs: hiddenSize };
    return this.body.linear(this.emitValues(layer, context), output, false);
  }

  private emitQuery(layer: number, narrow: ValueName): ValueName {
    const { builder } = this.body;
    const { heads, headSize, hiddenSize, rotary } = this.body.options.shape;
    const { plainSize, queryRank, rank } = this.latent;
    const name = weightNames.layer(layer, 'latent_query');
    const outputs = heads * (plainSize + rotary.dimensions);
    const perHead = builder.node('Reshape', [
      this.body.linear(narrow, { name, inputs: queryRank ?? hiddenSize, outputs }, false),
      builder.integers([-1, heads, plainSize + rotary.dimensions]),
    ]);
    const [plain, rotated] = this.split(perHead, [plainSize, rotary.dimensions]);
    const key = builder.weight(weightNames.layer(layer, 'latent_key'), 'float32', [heads, plainSize, rank], () =>
      this.keyMatrices(layer),
    );
    const joined = builder.node('Concat', [rotated, this.perHead(plain, key)], { axis: -1 });
    return builder.node('Reshape', [joined, this.outerShape(heads * headSize)]);
  }

  /** Returns what queries are computed from: their latent, or the input. */
  private emitNarrowQuery(layer: number, input: ValueName): ValueName {
    const { body } = this;
    const { queryRank } = this.latent;
    if (queryRank === null) return input;
    const name = weightNames.layer(layer, 'latent_query_in');
    const narrow = { name, inputs: body.options.shape.hiddenSize, outputs: queryRank };
    return this.normed(body.linear(input, narrow, false), layer, 'latent_query_norm', queryRank);
  }

  private emitKey(layer: number, input: ValueName): ValueName {
    const { body } = this;
    const { hiddenSize, headSize, rotary } = body.options.shape;
    const { rank } = this.latent;
    const projection = { name: weightNames.layer(layer, 'latent'), inputs: hiddenSize, outputs: headSize };
    const [latent, rotated] = this.split(body.linear(input, projection, false), [rank, rotary.dimensions]);
    return body.builder.node('Concat', [rotated, this.normed(latent, layer, 'latent_norm', rank)], { axis: -1 });
  }

  /** `[batch, sequence, heads * headSize]` → `[batch, sequence, heads * valueSize]`. */
  private emitValues(layer: number, context: ValueName): ValueName {
    const { builder } = this.body;
    const { heads, headSize, rotary } = this.body.options.shape;
    const { rank, valueSize } = this.latent;
    const perHead = builder.node('Reshape', [context, builder.integers([-1, heads, headSize])]);
    const [from, to, axis] = [rotary.dimensions, headSize, 2].map((value) => builder.integers([value])) as [
      ValueName,
      ValueName,
      ValueName,
    ];
    const latents = builder.node('Slice', [perHead, from, to, axis]);
    const value = builder.weight(weightNames.layer(layer, 'latent_value'), 'float32', [heads, rank, valueSize], () =>
      this.valueMatrices(layer),
    );
    return builder.node('Reshape', [this.perHead(latents, value), this.outerShape(heads * valueSize)]);
  }

  /**
   * `[rows, heads, inputs]` by `[heads, inputs, outputs]` → `[rows, heads, outputs]`. The heads come first in between, so
   * that each matrix is read once for all rows of a batch.
   */
  private perHead(input: ValueName, matrices: ValueName): ValueName {
    const { builder } = this.body;
    const byHead = builder.node('Transpose', [input], { perm: [1, 0, 2] });
    return builder.node('Transpose', [builder.node('MatMul', [byHead, matrices])], { perm: [1, 0, 2] });
  }

  private split(input: ValueName, sizes: [number, number]): [ValueName, ValueName] {
    const { builder } = this.body;
    const parts: [ValueName, ValueName] = [builder.freshName('part'), builder.freshName('part')];
    builder.nodeWithOutputs('Split', [input, builder.integers(sizes)], parts, { axis: -1 });
    return parts;
  }

  private normed(input: ValueName, layer: number, part: LayerPart, size: number): ValueName {
    const { builder } = this.body;
    const gain = this.body.vector(weightNames.layer(layer, part), size);
    return builder.node('SimplifiedLayerNormalization', [input, gain], {
      axis: -1,
      epsilon: { float: this.latent.epsilon },
    });
  }

  private outerShape(width: number): ValueName {
    const { builder } = this.body;
    const known = this.outerShapes.get(width);
    if (known !== undefined) return known;
    const shape = builder.node('Concat', [builder.node('Shape', ['input_ids']), builder.integers([width])], {
      axis: 0,
    });
    this.outerShapes.set(width, shape);
    return shape;
  }

  /** Yields `[plainSize, rank]` of each head. */
  private async *keyMatrices(layer: number): AsyncGenerator<Uint8Array> {
    const { heads } = this.body.options.shape;
    const { rank, plainSize, valueSize, joined } = this.latent;
    for (let head = 0; head < heads; head++) {
      const values = joined
        ? await this.rows(layer, 'latent_key_value', head * (plainSize + valueSize), plainSize)
        : transposed(await this.rows(layer, 'latent_key', head * rank, rank), plainSize);
      yield bytesOf(values);
    }
  }

  /** Yields `[rank, valueSize]` of each head. */
  private async *valueMatrices(layer: number): AsyncGenerator<Uint8Array> {
    const { heads } = this.body.options.shape;
    const { rank, plainSize, valueSize, joined } = this.latent;
    for (let head = 0; head < heads; head++) {
      const values = joined
        ? await this.rows(layer, 'latent_key_value', head * (plainSize + valueSize) + plainSize, valueSize)
        : await this.rows(layer, 'latent_value', head * valueSize, valueSize);
      yield bytesOf(transposed(values, rank));
    }
  }

  private rows(layer: number, part: LayerPart, from: number, count: number): ReturnType<WeightSource['rows']> {
    return this.body.options.weights.rows(weightNames.layer(layer, part), from, from + count);
  }
}

/** Rows of `columns` values → columns. */
function transposed(values: Float32Array, columns: number): Float32Array {
  const rows = values.length / columns;
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      result[column * rows + row] = values[row * columns + column] as number;
    }
  }
  return result;
}
