import { bytesOf, type ValueName } from '../../onnx/index.js';
import { type ShortConvolution, weightNames } from './decoder-shape.js';
import type { LayerStates, MixerBody } from './mixer-body.js';

/** One layer with its input, `[batch, sequence, hidden]`. */
interface ConvolutionLayer {
  layer: number;
  mixer: ShortConvolution;
  input: ValueName;
  states: LayerStates;
}

/** Adds a short convolution with its gates. */
export function emitShortConvolution(body: MixerBody, { layer, mixer, input, states }: ConvolutionLayer): ValueName {
  const { builder } = body;
  const { hiddenSize } = body.options.shape;
  const nameOf = (part: 'convolution_in' | 'convolution' | 'convolution_out') => weightNames.layer(layer, part);
  const wide = { name: nameOf('convolution_in'), inputs: hiddenSize, outputs: 3 * hiddenSize };
  const [gate, outputGate, values] = ['gate', 'output_gate', 'values'].map((name) => builder.freshName(name)) as [
    ValueName,
    ValueName,
    ValueName,
  ];
  const parts = builder.integers([hiddenSize, hiddenSize, hiddenSize]);
  builder.nodeWithOutputs('Split', [body.linear(input, wide, mixer.bias), parts], [gate, outputGate, values], {
    axis: -1,
  });
  const gated = builder.node('Mul', [gate, values]);
  const convolved = emitTaps(body, nameOf('convolution'), {
    joined: states.withPastInputs(layer, gated, mixer.length),
    length: mixer.length,
    channels: hiddenSize,
    sequence: input,
  });
  const biased = mixer.bias
    ? builder.node('Add', [convolved, body.vector(weightNames.bias(nameOf('convolution')), hiddenSize)])
    : convolved;
  const output = { name: nameOf('convolution_out'), inputs: hiddenSize, outputs: hiddenSize };
  return body.linear(builder.node('Mul', [outputGate, biased]), output, mixer.bias);
}

interface Taps {
  /** `[batch, length - 1 + sequence, channels]`. */
  joined: ValueName;
  length: number;
  channels: number;
  /** A value whose second dimension is that of the new tokens. */
  sequence: ValueName;
}

/**
 * Returns a convolution of each channel with its own kernel: the sum of the inputs of each earlier token by the weight
 * of the channel. The operator of the runtime (CausalConvWithState) is half as fast for a chunk of a prompt, and the
 * state of a padded row ends before its padding, which the operator does not know.
 */
export function emitTaps(body: MixerBody, kernel: string, { joined, length, channels, sequence }: Taps): ValueName {
  const { builder } = body;
  const axis = builder.integers([1]);
  const count = builder.node('Gather', [builder.node('Shape', [sequence]), axis]);
  const products = Array.from({ length }, (_, tap) => {
    const from = builder.integers([tap]);
    const shifted = builder.node('Slice', [joined, from, builder.node('Add', [count, from]), axis]);
    return builder.node('Mul', [shifted, emitTap(body, kernel, { tap, length, channels })]);
  });
  return products.reduce((sum, product) => builder.node('Add', [sum, product]));
}

/** Adds the weights of one tap, `[channels]`. The source has one row of taps per channel. */
function emitTap(
  body: MixerBody,
  kernel: string,
  { tap, length, channels }: { tap: number; length: number; channels: number },
): ValueName {
  return body.builder.weight(`${kernel}.${tap}`, 'float32', [channels], async function* () {
    const rows = await body.options.weights.rows(kernel, 0, channels);
    yield bytesOf(Float32Array.from({ length: channels }, (_, channel) => rows[channel * length + tap] as number));
  });
}
