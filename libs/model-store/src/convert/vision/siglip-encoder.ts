import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { LinearFormat } from '../decoder/index.js';
import { type VisionActivation, VisionParts } from './vision-parts.js';
import type { VisionSource } from './vision-source.js';

/** Everything that determines a SigLIP encoder with the projector of Gemma 3, except its weights. */
export interface SiglipShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  feedForwardSize: number;
  activation: VisionActivation;
  epsilon: number;
  /** Sides of an image and of a patch, in samples. */
  imageSide: number;
  patchSide: number;
  /** Patches of a side that become one token. */
  pooled: number;
  /** Of the decoder. */
  outputSize: number;
  /** The gain of the projector's norm is stored as its difference from one. */
  gainFromOne: boolean;
}

const tower = 'vision_tower';
const projector = 'multi_modal_projector';
const epsilonOfProjector = 1e-6;

/**
 * Builds the encoder of images of one size as a graph: `pixel_values` float32 [1, 3, side, side] to `image_features`
 * float32 [tokens, width of the decoder].
 */
export function emitSiglipEncoder(shape: SiglipShape, source: VisionSource, linear: LinearFormat): OnnxGraph {
  return new SiglipEncoder(shape, source, linear).emit();
}

class SiglipEncoder {
  private readonly builder = new GraphBuilder('vision');
  private readonly parts: VisionParts;
  /** Patches of a side. */
  private readonly grid: number;

  constructor(
    private readonly shape: SiglipShape,
    private readonly source: VisionSource,
    linear: LinearFormat,
  ) {
    this.parts = new VisionParts(this.builder, source, { epsilon: shape.epsilon, linear });
    this.grid = shape.imageSide / shape.patchSide;
    this.builder.input('pixel_values', 'float32', [1, 3, shape.imageSide, shape.imageSide]);
  }

  emit(): OnnxGraph {
    const { builder, parts, shape } = this;
    let hidden = this.embed();
    for (let layer = 0; layer < shape.layers; layer++) hidden = this.layer(layer, hidden);
    const normed = parts.layerNorm(hidden, `${tower}.post_layernorm`, shape.hiddenSize);
    builder.node('MatMul', [this.normOfPool(this.pool(normed)), this.projection()], {}, 'image_features');
    builder.output('image_features', 'float32', [(this.grid / shape.pooled) ** 2, shape.outputSize]);
    parts.refuseUnread();
    return builder.build();
  }

  /** `[1, patches, hidden]`. */
  private embed(): ValueName {
    const { builder, parts, shape } = this;
    const { patchSide: side, hiddenSize } = shape;
    const name = `${tower}.embeddings`;
    const kernel = parts.kernel(`${name}.patch_embedding.weight`, [hiddenSize, 3, side, side]);
    const bias = parts.vector(`${name}.patch_embedding.bias`, hiddenSize);
    const sides = { kernel_shape: [side, side], strides: [side, side] };
    const maps = builder.node('Conv', ['pixel_values', kernel, bias], sides);
    const flat = builder.node('Reshape', [maps, builder.integers([1, hiddenSize, -1])]);
    const patches = builder.node('Transpose', [flat], { perm: [0, 2, 1] });
    return builder.node('Add', [patches, parts.table(`${name}.position_embedding.weight`, this.grid ** 2, hiddenSize)]);
  }

  private layer(layer: number, input: ValueName): ValueName {
    const { builder, parts } = this;
    const { hiddenSize, feedForwardSize, heads, activation } = this.shape;
    const name = `${tower}.encoder.layers.${layer}`;
    const first = parts.layerNorm(input, `${name}.layer_norm1`, hiddenSize);
    const project = (value: ValueName, part: string) =>
      parts.linear(value, { name: `${name}.self_attn.${part}`, inputs: hiddenSize, outputs: hiddenSize });
    const inputs = ['q_proj', 'k_proj', 'v_proj'].map((part) => project(first, part));
    const mixed = builder.contribNode('MultiHeadAttention', inputs, { num_heads: heads });
    const middle = builder.node('Add', [input, project(mixed, 'out_proj')]);
    const second = parts.layerNorm(middle, `${name}.layer_norm2`, hiddenSize);
    const wide = { name: `${name}.mlp.fc1`, inputs: hiddenSize, outputs: feedForwardSize };
    const narrow = { name: `${name}.mlp.fc2`, inputs: feedForwardSize, outputs: hiddenSize };
    return builder.node('Add', [middle, parts.linear(parts.activate(parts.linear(second, wide), activation), narrow)]);
  }

  /** Means of squares of patches, `[tokens, hidden]`. */
  private pool(hidden: ValueName): ValueName {
    const { builder, grid } = this;
    const { hiddenSize, pooled } = this.shape;
    const maps = builder.node('Transpose', [hidden], { perm: [0, 2, 1] });
    const square = builder.node('Reshape', [maps, builder.integers([1, hiddenSize, grid, grid])]);
    const sides = { kernel_shape: [pooled, pooled], strides: [pooled, pooled] };
    const means = builder.node('AveragePool', [square], sides);
    const flat = builder.node('Reshape', [means, builder.integers([hiddenSize, -1])]);
    return builder.node('Transpose', [flat], { perm: [1, 0] });
  }

  private normOfPool(pooled: ValueName): ValueName {
    const { hiddenSize, gainFromOne } = this.shape;
    const added = gainFromOne ? 1 : 0;
    return this.parts.rmsNorm(pooled, `${projector}.mm_soft_emb_norm`, hiddenSize, {
      epsilon: epsilonOfProjector,
      added,
    });
  }

  /** Stored as it is multiplied, unlike linear layers. */
  private projection(): ValueName {
    const { builder, parts, source } = this;
    const { hiddenSize, outputSize } = this.shape;
    const name = `${projector}.mm_input_projection_weight`;
    parts.require(name, [hiddenSize, outputSize]);
    return builder.weight(name, 'float32', [hiddenSize, outputSize], async function* () {
      yield bytesOf(await source.rows(name, 0, hiddenSize));
    });
  }
}
