import { GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { LinearFormat } from '../decoder/index.js';
import { CheckedLayers } from '../layers/checked-layers.js';
import { normEpsilon, type WhisperShape } from './whisper-shape.js';
import type { WhisperWeights } from './whisper-weights.js';

const kernelLength = 3;
/** Tensors of the other graph. */
const decoderTensors = /^(?:model\.)?(?:decoder[./]|proj_out\.)/;

/**
 * Builds the encoder of Whisper: `input_features` float32 [batch, mel bins, frames] to `last_hidden_state` float32
 * [batch, positions, hidden].
 */
export function emitWhisperEncoder(shape: WhisperShape, weights: WhisperWeights, linear: LinearFormat): OnnxGraph {
  return new WhisperEncoder(shape, weights, linear).emit();
}

class WhisperEncoder {
  private readonly builder = new GraphBuilder('whisper_encoder');
  private readonly parts: CheckedLayers;

  constructor(
    private readonly shape: WhisperShape,
    weights: WhisperWeights,
    linear: LinearFormat,
  ) {
    this.parts = new CheckedLayers(this.builder, weights, { epsilon: normEpsilon, linear });
  }

  emit(): OnnxGraph {
    const { builder, parts } = this;
    const { hiddenSize, melBins, sourcePositions, encoder } = this.shape;
    const features = builder.input('input_features', 'float32', ['batch', melBins, 2 * sourcePositions]);
    const first = this.convolve(features, { name: 'encoder.conv1', channels: melBins, stride: 1 });
    const second = this.convolve(first, { name: 'encoder.conv2', channels: hiddenSize, stride: 2 });
    const positions = parts.table('encoder.embed_positions.weight', sourcePositions, hiddenSize);
    let hidden = builder.node('Add', [builder.node('Transpose', [second], { perm: [0, 2, 1] }), positions]);
    for (let layer = 0; layer < encoder.layers; layer++) hidden = this.layer(layer, hidden);
    builder.node('Identity', [parts.layerNorm(hidden, 'encoder.layer_norm', hiddenSize)], {}, 'last_hidden_state');
    builder.output('last_hidden_state', 'float32', ['batch', sourcePositions, hiddenSize]);
    parts.refuseUnread((name) => decoderTensors.test(name));
    return builder.build();
  }

  private convolve(
    input: ValueName,
    { name, channels, stride }: { name: string; channels: number; stride: number },
  ): ValueName {
    const { builder, parts } = this;
    const { hiddenSize } = this.shape;
    const kernel = parts.kernel(`${name}.weight`, [hiddenSize, channels, kernelLength]);
    const sizes = { kernel_shape: [kernelLength], pads: [1, 1], strides: [stride] };
    const map = builder.node('Conv', [input, kernel, parts.vector(`${name}.bias`, hiddenSize)], sizes);
    return parts.activate(map, 'gelu');
  }

  private layer(layer: number, input: ValueName): ValueName {
    const { builder, parts } = this;
    const { hiddenSize, encoder } = this.shape;
    const name = `encoder.layers.${layer}`;
    const normed = parts.layerNorm(input, `${name}.self_attn_layer_norm`, hiddenSize);
    const project = (value: ValueName, part: string) => {
      const sizes = { inputs: hiddenSize, outputs: hiddenSize };
      // A bias of keys adds the same to all scores of a query.
      return parts.linear(value, { name: `${name}.self_attn.${part}`, ...sizes, hasBias: part !== 'k_proj' });
    };
    const inputs = ['q_proj', 'k_proj', 'v_proj'].map((part) => project(normed, part));
    const mixed = builder.contribNode('MultiHeadAttention', inputs, { num_heads: encoder.heads });
    const middle = builder.node('Add', [input, project(mixed, 'out_proj')]);
    const second = parts.layerNorm(middle, `${name}.final_layer_norm`, hiddenSize);
    const wide = { name: `${name}.fc1`, inputs: hiddenSize, outputs: encoder.feedForwardSize };
    const narrow = { name: `${name}.fc2`, inputs: encoder.feedForwardSize, outputs: hiddenSize };
    return builder.node('Add', [middle, parts.linear(parts.activate(parts.linear(second, wide), 'gelu'), narrow)]);
  }
}
