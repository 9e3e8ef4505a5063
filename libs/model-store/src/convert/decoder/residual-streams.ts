import type { ValueName } from '../../onnx/index.js';
import { type LayerPart, type ResidualStreamsShape, weightNames } from './decoder-shape.js';
import { emitFeedForward, type FeedForwardBody } from './feed-forward.js';
import { LayerInputs, type LayerInputsBody } from './layer-inputs.js';

/** The members of the decoder that layers over several residual streams need. */
export type StreamsBody = FeedForwardBody & LayerInputsBody;

/** Adds attention of a layer, over a normed input. */
type Attend = (layer: number, input: ValueName) => ValueName;

/** Least mean square that the magnitude of a stream is divided by. */
const leastPower = 1e-5;

/**
 * Adds the layers of Gemma 3n, from embeddings to the final norm. They pass several residual streams on (AltUp): a layer
 * predicts all of them by a matrix per token, computes one, and corrects the others by what that prediction missed. A
 * projection of low rank goes around its attention (Laurel).
 */
export function emitStreams(body: StreamsBody, embedding: ValueName, attend: Attend): ValueName {
  const { layers, layerInputs, residualStreams } = body.options.shape;
  if (!layerInputs || !residualStreams) throw new Error('The decoder has no residual streams.');
  const streams = new ResidualStreams(body, embedding, residualStreams);
  const inputs = new LayerInputs(body, embedding, layerInputs);
  for (let layer = 0; layer < layers; layer++) {
    const computed = emitLayer(body, layer, { residual: streams.predict(layer), rank: residualStreams.rank, attend });
    streams.correct(layer, computed, inputs);
  }
  return body.normed(streams.merge(), weightNames.finalNorm);
}

/** Adds attention, the projection around it, and the feed-forward. */
function emitLayer(
  body: StreamsBody,
  layer: number,
  { residual, rank, attend }: { residual: ValueName; rank: number; attend: Attend },
): ValueName {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const nameOf = (part: LayerPart) => weightNames.layer(layer, part);
  const add = (left: ValueName, right: ValueName) => builder.node('Add', [left, right]);
  const normed = body.normed(residual, nameOf('attention_norm'));
  const narrow = body.linear(normed, { name: nameOf('laurel_in'), inputs: hiddenSize, outputs: rank }, false);
  const wide = body.linear(narrow, { name: nameOf('laurel_out'), inputs: rank, outputs: hiddenSize }, false);
  const laurel = add(normed, body.normed(wide, nameOf('laurel_norm')));
  const attended = add(residual, body.normed(attend(layer, normed), nameOf('attention_post_norm')));
  const middle = builder.node('Mul', [add(attended, laurel), body.scalar(Math.SQRT1_2)]);
  const input = { residual: middle, normed: body.normed(middle, nameOf('feed_forward_norm')) };
  return add(middle, body.normed(emitFeedForward(body, layer, input), nameOf('feed_forward_post_norm')));
}

/** The streams between two layers, `[batch, sequence, streams, hidden]`. */
class ResidualStreams {
  private streams: ValueName;

  constructor(
    private readonly body: StreamsBody,
    embedding: ValueName,
    private readonly shape: ResidualStreamsShape,
  ) {
    const others = Array.from({ length: shape.count - 1 }, (_, index) => {
      const projected = body.linear(embedding, this.square(weightNames.streamIn(index)), false);
      return this.withMagnitude(projected, embedding);
    });
    const all = [embedding, ...others].map((stream) => this.unsqueezed(stream, 2));
    this.streams = body.builder.node('Concat', all, { axis: 2 });
  }

  /** Replaces all streams by their predictions, and returns that which the layer computes. */
  predict(layer: number): ValueName {
    const { body, shape, streams } = this;
    const { builder } = body;
    const factors = this.factors(layer, this.stream(shape.active), {
      name: weightNames.layer(layer, 'stream_prediction'),
      inputs: shape.count,
      outputs: shape.count ** 2,
    });
    const matrix = builder.node('Reshape', [factors, builder.integers([0, 0, shape.count, shape.count])]);
    this.streams = builder.node('Add', [builder.node('MatMul', [matrix, streams]), streams]);
    return this.stream(shape.active);
  }

  /** Corrects the predictions by what the layer computed, and adds its vector to all streams but the first. */
  correct(layer: number, computed: ValueName, inputs: LayerInputs): void {
    const { body, shape } = this;
    const { builder } = body;
    const missed = builder.node('Sub', [computed, this.stream(shape.active)]);
    const factors = this.factors(layer, computed, {
      name: weightNames.layer(layer, 'stream_correction'),
      inputs: shape.count,
      outputs: shape.count,
    });
    const shares = this.unsqueezed(builder.node('Add', [factors, body.scalar(1)]), 3);
    const corrections = builder.node('Mul', [shares, this.unsqueezed(missed, 2)]);
    this.streams = builder.node('Add', [this.streams, corrections]);
    const scale = body.vector(weightNames.layer(layer, 'stream_scale'), body.options.shape.hiddenSize);
    const vector = inputs.vectorFor(layer, builder.node('Mul', [this.stream(shape.active), scale]));
    const [first, others] = [builder.freshName('first_stream'), builder.freshName('other_streams')];
    const sizes = builder.integers([1, shape.count - 1]);
    builder.nodeWithOutputs('Split', [this.streams, sizes], [first, others], { axis: 2 });
    const added = builder.node('Add', [others, this.unsqueezed(vector, 2)]);
    this.streams = builder.node('Concat', [first, added], { axis: 2 });
  }

  /** Returns the mean of the streams behind the last layer, which have a projection each. */
  merge(): ValueName {
    const { body, shape } = this;
    const { builder } = body;
    const first = this.stream(0);
    const others = Array.from({ length: shape.count - 1 }, (_, index) => {
      const projected = body.linear(this.stream(index + 1), this.square(weightNames.streamOut(index)), false);
      return this.withMagnitude(projected, first);
    });
    const sum = others.reduce((total, stream) => builder.node('Add', [total, stream]), first);
    return builder.node('Mul', [sum, body.scalar(1 / shape.count)]);
  }

  /** Returns numbers that a layer reads from a stream, through a router of all streams. Their layers are small: floats. */
  private factors(layer: number, input: ValueName, { name, inputs, outputs }: Parameters<StreamsBody['linear']>[1]) {
    const { body, shape } = this;
    const { builder } = body;
    const { hiddenSize } = body.options.shape;
    const float = { kind: 'float32' } as const;
    const normed = body.normed(input, weightNames.layer(layer, 'stream_norm'));
    const scaled = builder.node('Mul', [normed, body.scalar(1 / hiddenSize)]);
    const router = { name: weightNames.layer(layer, 'stream_router'), inputs: hiddenSize, outputs: shape.count };
    const routed = builder.node('Tanh', [body.linear(scaled, router, false, float)]);
    return body.linear(routed, { name, inputs, outputs }, false, float);
  }

  /** Returns a stream, `[batch, sequence, hidden]`. */
  private stream(index: number): ValueName {
    const { builder } = this.body;
    return builder.node('Gather', [this.streams, builder.integers(index)], { axis: 2 });
  }

  /** Gives a stream the root mean square of another. */
  private withMagnitude(stream: ValueName, other: ValueName): ValueName {
    const { builder } = this.body;
    const power = builder.node('Max', [this.power(stream), this.body.scalar(leastPower)]);
    const factor = builder.node('Sqrt', [builder.node('Div', [this.power(other), power])]);
    return builder.node('Mul', [stream, factor]);
  }

  private power(stream: ValueName): ValueName {
    const { builder } = this.body;
    return builder.node('ReduceMean', [builder.node('Mul', [stream, stream])], { axes: [-1], keepdims: 1 });
  }

  private square(name: string) {
    const { hiddenSize } = this.body.options.shape;
    return { name, inputs: hiddenSize, outputs: hiddenSize };
  }

  private unsqueezed(value: ValueName, axis: number): ValueName {
    const { builder } = this.body;
    return builder.node('Unsqueeze', [value, builder.integers([axis])]);
  }
}
