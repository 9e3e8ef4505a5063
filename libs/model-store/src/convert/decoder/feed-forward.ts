import type { ValueName } from '../../onnx/index.js';
import {
  type DecoderShape,
  type ExpertShape,
  expertsOf,
  feedForwardSize,
  type LayerPart,
  weightNames,
} from './decoder-shape.js';
import { emitExperts, type ExpertBody } from './expert-layers.js';
import type { WeightSource } from './weight-source.js';

/** The parts of the decoder that feed-forwards use. */
export interface FeedForwardBody extends ExpertBody {
  readonly options: { shape: DecoderShape; weights: WeightSource };
  /** Adds a constant of the decoder's type. */
  scalar(value: number): ValueName;
  normed(input: ValueName, name: string): ValueName;
}

/** The inputs of a feed-forward: the residual, and its norm. */
export interface FeedForwardInput {
  residual: ValueName;
  normed: ValueName;
}

/** Adds the feed-forward half of a layer: one for all tokens, experts, or both. */
export function emitFeedForward(body: FeedForwardBody, layer: number, input: FeedForwardInput): ValueName {
  const experts = expertsOf(body.options.shape, layer);
  if (experts === undefined) return emitPlain(body, layer, input.normed);
  return experts.beside ? emitBoth(body, layer, experts, input) : emitExperts(body, layer, experts, input.normed);
}

function emitPlain(body: FeedForwardBody, layer: number, input: ValueName): ValueName {
  const { hiddenSize, feedForward, bias } = body.options.shape;
  const size = feedForwardSize(body.options.shape, layer);
  const widen = (part: LayerPart) =>
    body.linear(input, { name: weightNames.layer(layer, part), inputs: hiddenSize, outputs: size }, bias.feedForward);
  const isGated = feedForward.kind.startsWith('gated-');
  const threshold = feedForward.thresholds?.[layer] ?? null;
  const gate = () => (threshold === null ? widen('gate') : emitThreshold(body, widen('gate'), threshold));
  const inner = isGated ? body.gated(gate(), widen('up')) : body.activated(widen('up'));
  const down = { name: weightNames.layer(layer, 'down'), inputs: size, outputs: hiddenSize };
  return body.linear(inner, down, bias.feedForward);
}

/** Adds what gates are above their mean and so many standard deviations; 0 for those below. */
function emitThreshold(body: FeedForwardBody, gate: ValueName, deviations: number): ValueName {
  const { builder } = body;
  const mean = (value: ValueName) => builder.node('ReduceMean', [value], { axes: [-1], keepdims: 1 });
  const centered = builder.node('Sub', [gate, mean(gate)]);
  const deviation = builder.node('Sqrt', [mean(builder.node('Mul', [centered, centered]))]);
  return builder.node('Relu', [
    builder.node('Sub', [centered, builder.node('Mul', [deviation, body.scalar(deviations)])]),
  ]);
}

/** The experts and their router have norms of the residual of their own. */
function emitBoth(
  body: FeedForwardBody,
  layer: number,
  experts: ExpertShape,
  { residual, normed }: FeedForwardInput,
): ValueName {
  const { builder } = body;
  const norm = (input: ValueName, part: LayerPart) => body.normed(input, weightNames.layer(layer, part));
  const plain = norm(emitPlain(body, layer, normed), 'beside_post_norm');
  const scale = body.scalar(body.options.shape.hiddenSize ** -0.5);
  const routed = builder.node('Mul', [norm(residual, 'router_norm'), scale]);
  const mixed = emitExperts(body, layer, experts, norm(residual, 'expert_norm'), routed);
  return builder.node('Add', [plain, norm(mixed, 'expert_post_norm')]);
}
