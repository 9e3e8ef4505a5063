import { bytesOf, type ValueName } from '../../onnx/index.js';
import { convolvedChannels, type GatedDelta, type LayerPart, weightNames } from './decoder-shape.js';
import type { LayerStates, MixerBody } from './mixer-body.js';
import { emitTaps } from './short-convolution.js';

/** One layer with its input, `[batch, sequence, hidden]`. */
interface DeltaLayer {
  layer: number;
  mixer: GatedDelta;
  input: ValueName;
  states: LayerStates;
}

/** Added to the squares of a query or key before the root. */
const lengthEpsilon = 1e-6;

/**
 * Adds a gated DeltaNet layer. `LinearAttention` of the runtime goes through the tokens of a chunk one after the other,
 * for all heads at once. Padding decays and corrects nothing, so the matrices behind it are those of the last token.
 */
export function emitGatedDelta(body: MixerBody, { layer, mixer, input, states }: DeltaLayer): ValueName {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const { keyHeads, valueHeads, keySize, valueSize, headOrder } = mixer;
  const nameOf = (part: LayerPart) => weightNames.layer(layer, part);
  const valueWidth = valueHeads * valueSize;
  const { query, key, value } = emitProjections(body, { layer, mixer, input, states });
  const { decay, rate } = emitGates(body, { layer, mixer, input, states });
  // Without this, the operator takes value heads that share a key head as neighbors.
  const repeats = headOrder === 'tiled' ? valueHeads / keyHeads : 1;
  const repeated = (heads: ValueName) =>
    repeats === 1 ? heads : builder.node('Concat', new Array<ValueName>(repeats).fill(heads), { axis: -1 });
  const memory = states.state(layer, 'memory');
  const attended = builder.contribNodeWithOutputs(
    'LinearAttention',
    [repeated(query), repeated(key), value, memory.past, decay, rate],
    [builder.freshName('attended'), memory.present],
    {
      q_num_heads: keyHeads * repeats,
      kv_num_heads: valueHeads,
      update_rule: 'gated_delta',
      scale: { float: 1 / Math.sqrt(keySize) },
    },
  );
  const gate = body.linear(input, { name: nameOf('delta_gate'), inputs: hiddenSize, outputs: valueWidth }, false);
  const gain = body.vector(nameOf('delta_norm'), valueSize);
  const { epsilon } = body.options.shape.norm;
  const normed = builder.contribNode('GatedRMSNorm', [attended, gain, gate], { epsilon: { float: epsilon } });
  return body.linear(normed, { name: nameOf('delta_out'), inputs: valueWidth, outputs: hiddenSize }, false);
}

/** Adds queries and keys of length one, and values, each `[batch, sequence, heads * size]`. */
function emitProjections(body: MixerBody, { layer, mixer, input, states }: DeltaLayer) {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const { keyHeads, valueHeads, keySize, valueSize, length } = mixer;
  const channels = convolvedChannels(mixer, hiddenSize);
  const projection = { name: weightNames.layer(layer, 'delta_in'), inputs: hiddenSize, outputs: channels };
  const mixed = body.linear(input, projection, false);
  const convolved = emitTaps(body, weightNames.layer(layer, 'convolution'), {
    joined: states.withPastInputs(layer, mixed, length),
    length,
    channels,
    sequence: input,
  });
  const activated = builder.contribNode('QuickGelu', [convolved], { alpha: { float: 1 } });
  const [query, key, value] = [builder.freshName('query'), builder.freshName('key'), builder.freshName('value')];
  const widths = builder.integers([keyHeads * keySize, keyHeads * keySize, valueHeads * valueSize]);
  builder.nodeWithOutputs('Split', [activated, widths], [query, key, value], { axis: -1 });
  return { query: emitUnitLength(body, query, mixer), key: emitUnitLength(body, key, mixer), value };
}

/** Divides each head by the root of its sum of squares: an RMS norm whose gain is one by the root of its size. */
function emitUnitLength(body: MixerBody, heads: ValueName, { keyHeads, keySize }: GatedDelta): ValueName {
  const { builder } = body;
  const perHead = builder.node('Reshape', [heads, builder.integers([0, 0, keyHeads, keySize])]);
  const gain = builder.node('Expand', [builder.float(1 / Math.sqrt(keySize)), builder.integers([keySize])]);
  const attributes = { axis: -1, epsilon: { float: lengthEpsilon / keySize } };
  const normed = builder.node('SimplifiedLayerNormalization', [perHead, gain], attributes);
  return builder.node('Reshape', [normed, builder.integers([0, 0, keyHeads * keySize])]);
}

/**
 * Adds the logarithm of the decay and the rate of correction of each value head, `[batch, sequence, value heads]`.
 * Their layers are floats whatever the format of the others: they are small, and the recurrence raises their errors to
 * powers.
 */
function emitGates(body: MixerBody, { layer, mixer: { valueHeads }, input, states }: DeltaLayer) {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const project = (part: LayerPart) => {
    const name = weightNames.layer(layer, part);
    return body.linear(input, { name, inputs: hiddenSize, outputs: valueHeads }, false, { kind: 'float32' });
  };
  const vector = (part: LayerPart) => {
    const name = weightNames.layer(layer, part);
    return builder.weight(name, 'float32', [valueHeads], async function* () {
      yield bytesOf(await body.options.weights.vector(name));
    });
  };
  const [decay, rate] = [builder.freshName('decay'), builder.freshName('rate')];
  const inputs = [
    project('delta_decay'),
    vector('delta_decay_bias'),
    vector('delta_decay_scale'),
    project('delta_rate'),
  ];
  builder.contribNodeWithOutputs('LinearAttentionGate', inputs, [decay, rate]);
  const mask = states.tokenMask();
  return { decay: builder.node('Mul', [decay, mask]), rate: builder.node('Mul', [rate, mask]) };
}
