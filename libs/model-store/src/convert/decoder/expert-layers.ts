import { bytesOf, type GraphBuilder, type ValueName } from '../../onnx/index.js';
import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { emitChannelProduct, quantizeTokens } from './channel-linear.js';
import { type DecoderShape, type ExpertShape, type LayerPart, weightNames } from './decoder-shape.js';
import { emitBlocks, emitLinear, type LinearFormat, type LinearLayer, type StoredBlocks } from './linear-layer.js';
import { emitRowBlockSums } from './offset-blocks.js';
import type { WeightSource } from './weight-source.js';

/** Far above any score of a router with its bias. */
const outweighing = 1e9;

/** What experts need of the model around them. */
export interface ExpertBody {
  readonly builder: GraphBuilder;
  readonly options: { shape: Pick<DecoderShape, 'hiddenSize' | 'feedForward'>; weights: WeightSource };
  /** Returns the format of layers that are computed as one. */
  formatOf(names: readonly string[]): LinearFormat;
  /** Adds a linear layer of the weights, with its bias. */
  linear(input: ValueName, layer: LinearLayer, hasBias: boolean, format?: LinearFormat): ValueName;
  /** Adds the activation of the gate, times the other half. */
  gated(gate: ValueName, up: ValueName): ValueName;
  activated(input: ValueName): ValueName;
  /** Adds a vector of the weights. */
  vector(name: string, size: number): ValueName;
}

/** Which experts compute which tokens. A route is a token at one of its experts; there are `tokens * used` of them. */
interface Routes {
  /** `[tokens, 1, used]`: the weights of a token's experts. */
  weights: ValueName;
  /** `[routes, 1]`: the same in the order of experts. */
  inOrder: ValueName;
  /** `[routes]`: token of each route, and its expert, in the order of experts. */
  tokens: ValueName;
  experts: ValueName;
  /** `[routes]`: places of the routes in the order of tokens. */
  back: ValueName;
  /** `[experts]`: number of routes of each expert. */
  counts: ValueName;
}

/**
 * Adds the feed-forward half of a layer with experts. Tokens are sorted by expert and each expert computes its own; one
 * without tokens gets an empty matrix, for which its kernels return at once. The runtime's own operator for quantised
 * experts dequantises them at every step and took 17 to 70 times as long. The router reads `routed`.
 */
export function emitExperts(
  body: ExpertBody,
  layer: number,
  experts: ExpertShape,
  input: ValueName,
  routed = input,
): ValueName {
  const { builder, options } = body;
  const { hiddenSize, feedForward } = options.shape;
  const { size, kind } = feedForward;
  const width = experts.latentSize ?? hiddenSize;
  const flatten = (value: ValueName) => builder.node('Reshape', [value, builder.integers([-1, hiddenSize])]);
  const flat = flatten(input);
  const routes = emitRoutes(body, layer, routed === input ? flat : flatten(routed), experts);
  const entering = width === hiddenSize ? flat : between('expert_in', flat, hiddenSize, width);
  const unweighted = builder.node('Gather', [entering, routes.tokens]);
  const sorted = experts.weighsInputs ? builder.node('Mul', [unweighted, routes.inOrder]) : unweighted;
  const isGated = kind.startsWith('gated-');
  const parts: LayerPart[] = isGated ? ['expert_gate', 'expert_up'] : ['expert_up'];
  const wide = emitExpertLayers(body, layer, { routes, input: sorted, experts, parts, inputs: width, rows: size });
  const inner = isGated ? emitGated(body, wide, experts, size) : body.activated(wide);
  const down = { parts: ['expert_down'] as LayerPart[], inputs: size, rows: width };
  const narrow = emitExpertLayers(body, layer, { routes, input: inner, experts, ...down });
  const unsorted = builder.node('Gather', [narrow, routes.back]);
  const byToken = builder.node('Reshape', [unsorted, builder.integers([-1, experts.used, width])]);
  const weighted = experts.weighsInputs
    ? builder.node('ReduceSum', [byToken, builder.integers([1])], { keepdims: 0 })
    : builder.node('MatMul', [routes.weights, byToken]);
  const flatSum = builder.node('Reshape', [weighted, builder.integers([-1, width])]);
  const mixed = width === hiddenSize ? weighted : between('expert_out', flatSum, width, hiddenSize);
  const result = builder.node('Reshape', [mixed, builder.node('Shape', [input])]);
  return experts.shared ? builder.node('Add', [result, emitSharedExpert(body, layer, input, experts.shared)]) : result;

  function between(part: LayerPart, source: ValueName, inputs: number, outputs: number): ValueName {
    return body.linear(source, { name: weightNames.layer(layer, part), inputs, outputs }, false);
  }
}

/** Adds the activation of gates times values, which are side by side, `[routes, 2 * size]`. */
function emitGated(body: ExpertBody, wide: ValueName, { clamp }: ExpertShape, size: number): ValueName {
  const { builder } = body;
  const [gate, up] = [builder.freshName('gate'), builder.freshName('up')];
  builder.nodeWithOutputs('Split', [wide, builder.integers([size, size])], [gate, up], { axis: -1 });
  return clamp ? clamped(body, gate, up, clamp) : body.gated(gate, up);
}

/** Adds the expert that computes every token, times its weight for the token if it has one. */
function emitSharedExpert(
  body: ExpertBody,
  layer: number,
  input: ValueName,
  { size, weighted }: NonNullable<ExpertShape['shared']>,
): ValueName {
  const { builder, options } = body;
  const { hiddenSize } = options.shape;
  const linear = (part: LayerPart, source: ValueName, inputs: number, outputs: number) =>
    body.linear(source, { name: weightNames.layer(layer, part), inputs, outputs }, false);
  const up = () => linear('shared_up', input, hiddenSize, size);
  const isGated = options.shape.feedForward.kind.startsWith('gated-');
  const inner = isGated ? body.gated(linear('shared_gate', input, hiddenSize, size), up()) : body.activated(up());
  const result = linear('shared_down', inner, size, hiddenSize);
  if (!weighted) return result;
  const router = { name: weightNames.layer(layer, 'shared_router'), inputs: hiddenSize, outputs: 1 };
  const weight = builder.node('Sigmoid', [body.linear(input, router, false, { kind: 'float32' })]);
  return builder.node('Mul', [result, weight]);
}

function emitRoutes(body: ExpertBody, layer: number, tokens: ValueName, experts: ExpertShape): Routes {
  const { builder } = body;
  const { count, used } = experts;
  const { weights: chosen, ids } = emitChoice(body, layer, tokens, experts);
  const weights = experts.beside ? builder.node('Mul', [chosen, expertScales()]) : chosen;
  const flat = builder.node('Reshape', [ids, builder.integers([-1])]);
  const total = builder.node('Shape', [flat]);
  const one = builder.integers(1);
  const steps = builder.node('Range', [builder.integers(0), builder.node('Squeeze', [total]), one]);
  const keys = builder.node('Add', [builder.node('Mul', [flat, total]), steps]);
  const [, order] = topK(body, keys, total, 0);
  const [, back] = topK(body, order, total, 0);
  const oneHot = builder.node('OneHot', [flat, builder.integers(count), builder.integers([0, 1])], { axis: -1 });
  return {
    weights: builder.node('Unsqueeze', [weights, builder.integers([1])]),
    inOrder: experts.weighsInputs ? builder.node('Gather', [flatWeights(), order]) : '',
    tokens: builder.node('Div', [order, builder.integers(used)]),
    experts: builder.node('Gather', [flat, order]),
    back,
    counts: builder.node('ReduceSum', [oneHot, builder.integers([0])], { keepdims: 0 }),
  };

  function expertScales(): ValueName {
    return builder.node('Gather', [body.vector(weightNames.layer(layer, 'expert_scale'), count), ids]);
  }

  function flatWeights(): ValueName {
    return builder.node('Reshape', [weights, builder.integers([-1, 1])]);
  }
}

/** Returns the experts of each token and their weights, `[tokens, used]` both. */
function emitChoice(
  body: ExpertBody,
  layer: number,
  tokens: ValueName,
  { count, used, bias, scoring, selectionBias, normalized, scale, groups }: ExpertShape,
): { weights: ValueName; ids: ValueName } {
  const { builder } = body;
  const router = { name: weightNames.layer(layer, 'router'), inputs: body.options.shape.hiddenSize, outputs: count };
  // Small differences decide between experts, so the router stays in float32.
  const outputs = body.linear(tokens, router, bias, { kind: 'float32' });
  const softmax = (value: ValueName) => builder.node('Softmax', [value], { axis: -1 });
  const size = builder.integers([used]);
  const scaled = (value: ValueName) =>
    scale === undefined ? value : builder.node('Mul', [value, builder.float(scale)]);
  if (scoring === 'softmax' && normalized && !selectionBias && !groups) {
    // The same as normalized scores, in fewer kernels.
    const [values, ids] = topK(body, outputs, size, 1);
    return { weights: scaled(softmax(values)), ids };
  }
  const scores = scoring === 'softmax' ? softmax(outputs) : builder.node('Sigmoid', [outputs]);
  const selection = selectionBias ? builder.node('Add', [scores, selectionBiases()]) : scores;
  const [values, ids] = selection === scores && !groups ? topK(body, scores, size, 1) : chooseBy(selection);
  if (!normalized) return { weights: scaled(values), ids };
  const sum = builder.node('ReduceSum', [values, builder.integers([-1])], { keepdims: 1 });
  return { weights: scaled(builder.node('Div', [values, sum])), ids };

  function chooseBy(selection: ValueName): [ValueName, ValueName] {
    const choice = groups ? withinGroups(body, selection, { count, groups }) : selection;
    const [, chosen] = topK(body, choice, size, 1);
    return [builder.node('GatherElements', [scores, chosen], { axis: -1 }), chosen];
  }

  function selectionBiases(): ValueName {
    const name = weightNames.layer(layer, 'router_selection');
    return builder.weight(name, 'float32', [count], async function* () {
      yield bytesOf(await body.options.weights.vector(name));
    });
  }
}

/** Takes what no score outweighs from the scores of experts outside the chosen groups, `[tokens, experts]`. */
function withinGroups(
  body: ExpertBody,
  scores: ValueName,
  { count, groups }: { count: number; groups: NonNullable<ExpertShape['groups']> },
): ValueName {
  const { builder } = body;
  const perGroup = builder.node('Reshape', [scores, builder.integers([-1, groups.count, count / groups.count])]);
  const [best] = topK(body, perGroup, builder.integers([groups.score === 'best' ? 1 : 2]), 1);
  const groupScores = builder.node('ReduceSum', [best, builder.integers([-1])], { keepdims: 0 });
  const [, chosen] = topK(body, groupScores, builder.integers([groups.used]), 1);
  const oneHot = builder.node('OneHot', [chosen, builder.integers(groups.count), builder.integers([0, 1])], {
    axis: -1,
  });
  const counts = builder.node('ReduceSum', [oneHot, builder.integers([1])], { keepdims: 0 });
  const isChosen = builder.node('Cast', [counts], { to: onnxDataTypeCode.bool });
  const penalties = builder.node('Where', [isChosen, builder.float(0), builder.float(-outweighing)]);
  const spread = builder.node('Add', [perGroup, builder.node('Unsqueeze', [penalties, builder.integers([2])])]);
  return builder.node('Reshape', [spread, builder.integers([-1, count])]);
}

/** Returns the `count` largest or smallest values, in order, and their positions. */
function topK(body: ExpertBody, input: ValueName, count: ValueName, largest: 0 | 1): [ValueName, ValueName] {
  const outputs: [ValueName, ValueName] = [body.builder.freshName('values'), body.builder.freshName('positions')];
  body.builder.nodeWithOutputs('TopK', [input, count], outputs, { axis: -1, largest, sorted: 1 });
  return outputs;
}

interface ExpertLayers {
  routes: Routes;
  /** `[routes, inputs]` in the order of experts. */
  input: ValueName;
  experts: ExpertShape;
  /** Weights that are computed as one, each with `rows` outputs per expert. */
  parts: LayerPart[];
  inputs: number;
  rows: number;
}

/** Adds the same layer of all experts: `[routes, inputs]` → `[routes, parts * rows]`. */
function emitExpertLayers(body: ExpertBody, layer: number, layers: ExpertLayers): ValueName {
  const { builder, options } = body;
  const { routes, input, experts, parts, inputs, rows } = layers;
  const names = parts.map((part) => weightNames.layer(layer, part));
  const label = names.join('+');
  const linear = body.formatOf(names);
  // Tokens are quantised once for all experts: the runtime's maximum of an empty matrix has the wrong shape.
  const quantized = linear.kind === 'channels' ? quantizeTokens(builder, input) : null;
  const pieces = Array.from({ length: experts.count }, () => builder.freshName('expert_input'));
  const source = withoutShape(body, quantized?.codes ?? input);
  builder.nodeWithOutputs('Split', [source, routes.counts], pieces, { axis: 0 });
  const sums = linear.kind === 'blocks' && linear.hasOffset ? splitSums(body, { routes, input, experts }, linear) : [];
  const shifts: ValueName[] = [];
  const results = pieces.map((piece, expert) => {
    const weights = new ExpertRows(options.weights, names, { expert, rows });
    const part = { name: `${label}.${expert}`, inputs, outputs: rows * parts.length };
    if (quantized) return emitChannelProduct(builder, weights, piece, part);
    if (linear.kind !== 'blocks') return emitLinear(builder, weights, linear, piece, part);
    const { product, shift } = emitBlocks(builder, weights, linear, { input: piece, sums: sums[expert] }, part);
    if (shift !== null) shifts.push(shift);
    return product;
  });
  const width = builder.integers([-1, rows * parts.length]);
  const join = (values: ValueName[]) => builder.node('Reshape', [builder.node('Concat', values, { axis: 0 }), width]);
  const product = join(results);
  const shifted = shifts.length > 0 ? builder.node('Add', [product, join(shifts)]) : product;
  const joined = quantized ? builder.node('Mul', [shifted, quantized.scale]) : shifted;
  if (!experts.bias) return joined;
  const biases = builder.weight(`${label}.bias`, 'float32', [experts.count, rows * parts.length], async function* () {
    const sources = await Promise.all(names.map((name) => options.weights.vector(weightNames.bias(name))));
    for (let expert = 0; expert < experts.count; expert++) {
      for (const source of sources) yield bytesOf(source.slice(expert * rows, (expert + 1) * rows));
    }
  });
  return builder.node('Add', [joined, builder.node('Gather', [biases, routes.experts])]);
}

/** Adds the sums of blocks of each expert's rows, computed for all at once. */
function splitSums(
  body: ExpertBody,
  { routes, input, experts }: Pick<ExpertLayers, 'routes' | 'input' | 'experts'>,
  { blockSize }: StoredBlocks,
): ValueName[] {
  const { builder } = body;
  const sums = Array.from({ length: experts.count }, () => builder.freshName('expert_sums'));
  const source = withoutShape(body, emitRowBlockSums(builder, input, blockSize));
  builder.nodeWithOutputs('Split', [source, routes.counts], sums, { axis: 0 });
  return sums;
}

/**
 * Returns a matrix whose rank the runtime cannot tell when it loads the graph. It compares each tensor of known rank with
 * all others to share memory: 11 s for 2,048 expert layers, which thereby become 1.4 s.
 */
function withoutShape({ builder }: ExpertBody, matrix: ValueName): ValueName {
  const both = builder.node('Cast', [builder.integers([1, 1])], { to: onnxDataTypeCode.bool });
  return builder.node('Reshape', [matrix, builder.node('Compress', [builder.node('Shape', [matrix]), both])]);
}

function clamped(
  { builder }: ExpertBody,
  gate: ValueName,
  up: ValueName,
  { limit, alpha, shift }: NonNullable<ExpertShape['clamp']>,
): ValueName {
  const bounded = builder.node('Min', [gate, builder.float(limit)]);
  const activated = builder.contribNode('QuickGelu', [bounded], { alpha: { float: alpha } });
  const linear = builder.node('Clip', [up, builder.float(-limit), builder.float(limit)]);
  return builder.node('Mul', [activated, builder.node('Add', [linear, builder.float(shift)])]);
}

/** Rows of one expert in stacked weights, of several weights one after the other. */
class ExpertRows implements WeightSource {
  constructor(
    private readonly weights: WeightSource,
    private readonly names: readonly string[],
    private readonly place: { expert: number; rows: number },
  ) {}

  rows(_name: string, from: number, to: number): Promise<Float32Array> {
    return this.joined(from, to, (name, first, last) => this.weights.rows(name, first, last));
  }

  blockRows(_name: string, from: number, to: number): Promise<Float32Array> {
    const { weights } = this;
    return this.joined(from, to, async (name, first, last) => {
      if (!weights.blockRows) throw new Error(`${name} has no blocks to keep.`);
      return weights.blockRows(name, first, last);
    });
  }

  private async joined(
    from: number,
    to: number,
    read: (name: string, from: number, to: number) => Promise<Float32Array>,
  ): Promise<Float32Array> {
    const { expert, rows } = this.place;
    const pieces: Float32Array[] = [];
    for (const [index, name] of this.names.entries()) {
      const first = Math.max(from - index * rows, 0);
      const last = Math.min(to - index * rows, rows);
      if (first < last) pieces.push(await read(name, expert * rows + first, expert * rows + last));
    }
    const [only, ...more] = pieces;
    if (only && more.length === 0) return only;
    const joined = new Float32Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let end = 0;
    for (const piece of pieces) {
      joined.set(piece, end);
      end += piece.length;
    }
    return joined;
  }

  vector(name: string): Promise<Float32Array> {
    return this.weights.vector(name);
  }
}
