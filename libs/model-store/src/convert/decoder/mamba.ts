import { bytesOf, type ValueName } from '../../onnx/index.js';
import { convolvedChannels, type LayerPart, type Mamba, weightNames } from './decoder-shape.js';
import type { LayerStates, MixerBody } from './mixer-body.js';
import { emitTaps } from './short-convolution.js';

/** One layer with its input, `[batch, sequence, hidden]`. */
interface MambaLayer {
  layer: number;
  mixer: Mamba;
  input: ValueName;
  states: LayerStates;
}

/**
 * Adds a Mamba 2 layer. Its recurrence is that of linear attention with a decay per head: B and C are the keys and
 * queries that the heads of a group share, and the values are the inputs times their step sizes. Padding has steps of
 * zero, so the matrices behind it are those of the last token.
 */
export function emitMamba(body: MixerBody, { layer, mixer, input, states }: MambaLayer): ValueName {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const { heads, headSize, groups } = mixer;
  const width = heads * headSize;
  const nameOf = (part: LayerPart) => weightNames.layer(layer, part);
  const gate = body.linear(input, { name: nameOf('mamba_gate'), inputs: hiddenSize, outputs: width }, false);
  const { values, keys, queries } = emitInputs(body, { layer, mixer, input, states });
  const { steps, decay } = emitSteps(body, { layer, mixer, input, states });
  const byHead = builder.integers([0, 0, heads, headSize]);
  const joined = builder.integers([0, 0, width]);
  const perHead = builder.node('Reshape', [values, byHead]);
  const stepped = builder.node('Mul', [perHead, builder.node('Unsqueeze', [steps, builder.integers([3])])]);
  const memory = states.state(layer, 'memory');
  const attended = builder.contribNodeWithOutputs(
    'LinearAttention',
    [queries, keys, builder.node('Reshape', [stepped, joined]), memory.past, decay],
    [builder.freshName('attended'), memory.present],
    { q_num_heads: groups, kv_num_heads: heads, update_rule: 'gated', scale: { float: 1 } },
  );
  const skipped = builder.node('Mul', [perHead, floatVector(body, nameOf('mamba_skip'), [heads, 1])]);
  const outputs = builder.node('Add', [attended, builder.node('Reshape', [skipped, joined])]);
  const gated = builder.node('Mul', [outputs, activated(body, gate)]);
  const normed = mixer.hasNorm ? emitGroupNorm(body, nameOf('mamba_norm'), gated, mixer) : gated;
  return body.linear(normed, { name: nameOf('mamba_out'), inputs: width, outputs: hiddenSize }, false);
}

/** Adds the inputs of the heads, B and C, each `[batch, sequence, heads * size]`, behind their convolution. */
function emitInputs(body: MixerBody, { layer, mixer, input, states }: MambaLayer) {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const { heads, headSize, groups, stateSize, length, convolutionBias } = mixer;
  const channels = convolvedChannels(mixer, hiddenSize);
  const kernel = weightNames.layer(layer, 'convolution');
  const projection = { name: weightNames.layer(layer, 'mamba_in'), inputs: hiddenSize, outputs: channels };
  const mixed = body.linear(input, projection, false);
  const joined = states.withPastInputs(layer, mixed, length);
  const taps = emitTaps(body, kernel, { joined, length, channels, sequence: input });
  const convolved = convolutionBias
    ? builder.node('Add', [taps, body.vector(weightNames.bias(kernel), channels)])
    : taps;
  const [values, keys, queries] = [
    builder.freshName('values'),
    builder.freshName('keys'),
    builder.freshName('queries'),
  ];
  const widths = builder.integers([heads * headSize, groups * stateSize, groups * stateSize]);
  builder.nodeWithOutputs('Split', [activated(body, convolved), widths], [values, keys, queries], { axis: -1 });
  return { values, keys, queries };
}

/**
 * Adds the step size of each head and the logarithm of its decay, `[batch, sequence, heads]`. Their layer is of floats
 * whatever the format of the others: it is small, and the recurrence raises its errors to powers.
 */
function emitSteps(body: MixerBody, { layer, mixer: { heads, smallestStep }, input, states }: MambaLayer) {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const nameOf = (part: LayerPart) => weightNames.layer(layer, part);
  const projection = { name: nameOf('mamba_step'), inputs: hiddenSize, outputs: heads };
  const projected = body.linear(input, projection, false, { kind: 'float32' });
  const shifted = builder.node('Add', [projected, floatVector(body, nameOf('mamba_step_bias'), [heads])]);
  const unbounded = builder.node('Softplus', [shifted]);
  const bounded = smallestStep ? builder.node('Max', [unbounded, builder.float(smallestStep)]) : unbounded;
  const steps = builder.node('Mul', [bounded, states.tokenMask()]);
  return { steps, decay: builder.node('Mul', [steps, floatVector(body, nameOf('mamba_decay'), [heads])]) };
}

/** Adds an RMS norm of the values of each group. */
function emitGroupNorm(body: MixerBody, name: string, input: ValueName, { heads, headSize, groups }: Mamba): ValueName {
  const { builder } = body;
  const attributes = { axis: -1, epsilon: { float: body.options.shape.norm.epsilon } };
  const width = heads * headSize;
  if (groups === 1) return builder.node('SimplifiedLayerNormalization', [input, body.vector(name, width)], attributes);
  const size = width / groups;
  const perGroup = builder.node('Reshape', [input, builder.integers([0, 0, groups, size])]);
  const ones = builder.node('Expand', [builder.float(1), builder.integers([size])]);
  const normed = builder.node('SimplifiedLayerNormalization', [perGroup, ones], attributes);
  const joined = builder.node('Reshape', [normed, builder.integers([0, 0, width])]);
  return builder.node('Mul', [joined, body.vector(name, width)]);
}

/** `QuickGelu` with alpha 1 is exactly SiLU, in one kernel. */
function activated({ builder }: MixerBody, input: ValueName): ValueName {
  return builder.contribNode('QuickGelu', [input], { alpha: { float: 1 } });
}

function floatVector({ builder, options }: MixerBody, name: string, dimensions: number[]): ValueName {
  return builder.weight(name, 'float32', dimensions, async function* () {
    yield bytesOf(await options.weights.vector(name));
  });
}
