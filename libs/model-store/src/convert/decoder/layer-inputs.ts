import type { ValueName } from '../../onnx/index.js';
import { type DecoderShape, layerTableRows, weightNames } from './decoder-shape.js';
import { embeddingContent } from './linear-layer.js';
import type { MixerBody } from './mixer-body.js';

/** The members of the decoder that its layers' vectors need. */
export interface LayerInputsBody extends MixerBody {
  readonly options: MixerBody['options'] & { embedding: 'float32' | 'float16' };
  /** Adds a constant of the decoder's type. */
  scalar(value: number): ValueName;
  /** Multiplies `up` by the activation of `gate`. */
  gated(gate: ValueName, up: ValueName): ValueName;
  normed(input: ValueName, name: string): ValueName;
  cast(value: ValueName, from?: 'float32' | 'float16'): ValueName;
}

/**
 * The vectors that the layers of Gemma 3n and 4 add: for each token and layer the sum of a row of a table and of a
 * projection of the embedding. A gate of the layer's output multiplies it.
 */
export class LayerInputs {
  /** `[batch, sequence, layers, size]`. */
  private readonly vectors: ValueName;

  constructor(
    private readonly body: LayerInputsBody,
    embedding: ValueName,
    private readonly shape: NonNullable<DecoderShape['layerInputs']>,
  ) {
    const { builder, options } = body;
    const { hiddenSize, layers, norm } = options.shape;
    const { size } = shape;
    const perLayer = builder.integers([0, 0, layers, size]);
    const projection = { name: weightNames.layerTableProjection, inputs: hiddenSize, outputs: layers * size };
    const projected = this.scaled(body.linear(embedding, projection, false), hiddenSize ** -0.5);
    const normed = builder.node(
      'SimplifiedLayerNormalization',
      [builder.node('Reshape', [projected, perLayer]), body.vector(weightNames.layerTableNorm, size)],
      { axis: -1, epsilon: { float: norm.epsilon } },
    );
    const rows = this.scaled(this.tableRows(layers * size), Math.sqrt(size));
    const sum = builder.node('Add', [normed, builder.node('Reshape', [rows, perLayer])]);
    this.vectors = this.scaled(sum, Math.SQRT1_2);
  }

  /** Adds the vector of a layer for the output of its other parts. */
  vectorFor(layer: number, input: ValueName): ValueName {
    const { body, shape } = this;
    const { builder } = body;
    const { hiddenSize } = body.options.shape;
    const nameOf = (part: 'input_gate' | 'input_projection' | 'input_post_norm') => weightNames.layer(layer, part);
    const gate = body.linear(input, { name: nameOf('input_gate'), inputs: hiddenSize, outputs: shape.size }, false);
    const vector = builder.node('Gather', [this.vectors, builder.integers(layer)], { axis: 2 });
    const gated = body.gated(gate, vector);
    const projection = { name: nameOf('input_projection'), inputs: shape.size, outputs: hiddenSize };
    return body.normed(body.linear(gated, projection, false), nameOf('input_post_norm'));
  }

  private tableRows(width: number): ValueName {
    const { builder, options } = this.body;
    const rows = layerTableRows(options.shape);
    const table = { name: weightNames.layerTable, inputs: width, outputs: rows };
    const content = embeddingContent(options.weights, options.embedding, table);
    const weight = builder.weight(table.name, options.embedding, [rows, width], content);
    return this.body.cast(builder.node('Gather', [weight, this.tableIds(rows)]), options.embedding);
  }

  /** Returns the rows of tokens. Those behind the table, which only images and sounds have, read its first. */
  private tableIds(rows: number): ValueName {
    const { builder, options } = this.body;
    if (rows === options.shape.vocabularySize) return 'input_ids';
    const isInTable = builder.node('Less', ['input_ids', builder.integers(rows)]);
    return builder.node('Where', [isInTable, 'input_ids', builder.integers(0)]);
  }

  private scaled(value: ValueName, factor: number): ValueName {
    return this.body.builder.node('Mul', [value, this.body.scalar(factor)]);
  }
}
