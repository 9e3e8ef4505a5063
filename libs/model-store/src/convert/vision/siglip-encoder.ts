import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { LinearFormat } from '../decoder/index.js';
import { type LayerActivation, CheckedLayers } from '../layers/checked-layers.js';
import type { CheckedSource } from '../layers/checked-source.js';

/** The layers behind a SigLIP encoder: those of Gemma 3, or those of Idefics3 and SmolVLM. */
export type SiglipProjector =
  /** Means of squares of patches, normed; the gain may be stored as its difference from one. */
  | { kind: 'means'; gainFromOne: boolean }
  /** Squares of patches side by side. */
  | { kind: 'joined' };

/** Everything that determines a SigLIP encoder and what is behind it, except its weights. */
export interface SiglipShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  feedForwardSize: number;
  activation: LayerActivation;
  epsilon: number;
  /** Sides of an image and of a patch, in samples. */
  imageSide: number;
  patchSide: number;
  /** Patches of a side that become one token. */
  pooled: number;
  /** Of the decoder. */
  outputSize: number;
  projector: SiglipProjector;
  /** Modules of the encoder have this in front of their names. */
  tower: string;
}

const means = 'multi_modal_projector';
const connector = 'connector.modality_projection.proj';
const epsilonOfProjector = 1e-6;
const output = 'image_features';

/**
 * Builds the encoder of images of one size as a graph: `pixel_values` float32 [1, 3, side, side] to `image_features`
 * float32 [tokens, width of the decoder]. Tiles of Idefics3 are [1, 1, 3, side, side].
 */
export function emitSiglipEncoder(shape: SiglipShape, source: CheckedSource, linear: LinearFormat): OnnxGraph {
  return new SiglipEncoder(shape, source, linear).emit();
}

class SiglipEncoder {
  private readonly builder = new GraphBuilder('vision');
  private readonly parts: CheckedLayers;
  /** Patches of a side. */
  private readonly grid: number;

  constructor(
    private readonly shape: SiglipShape,
    private readonly source: CheckedSource,
    linear: LinearFormat,
  ) {
    this.parts = new CheckedLayers(this.builder, source, { epsilon: shape.epsilon, linear });
    this.grid = Math.floor(shape.imageSide / shape.patchSide);
    const samples = [3, shape.imageSide, shape.imageSide];
    this.builder.input(
      'pixel_values',
      'float32',
      shape.projector.kind === 'joined' ? [1, 1, ...samples] : [1, ...samples],
    );
  }

  emit(): OnnxGraph {
    const { builder, parts, shape } = this;
    let hidden = this.embed();
    for (let layer = 0; layer < shape.layers; layer++) hidden = this.layer(layer, hidden);
    const normed = parts.layerNorm(hidden, `${this.shape.tower}.post_layernorm`, shape.hiddenSize);
    if (shape.projector.kind === 'joined') this.join(normed);
    else builder.node('MatMul', [this.normOfPool(this.pool(normed), shape.projector), this.projection()], {}, output);
    builder.output(output, 'float32', [(this.grid / shape.pooled) ** 2, shape.outputSize]);
    parts.refuseUnread();
    return builder.build();
  }

  /** `[1, patches, hidden]`. */
  private embed(): ValueName {
    const { builder, parts, shape } = this;
    const { patchSide: side, hiddenSize } = shape;
    const name = `${this.shape.tower}.embeddings`;
    const kernel = parts.kernel(`${name}.patch_embedding.weight`, [hiddenSize, 3, side, side]);
    const bias = parts.vector(`${name}.patch_embedding.bias`, hiddenSize);
    const sides = { kernel_shape: [side, side], strides: [side, side] };
    const image = builder.node('Reshape', ['pixel_values', builder.integers([1, 3, shape.imageSide, shape.imageSide])]);
    const maps = builder.node('Conv', [image, kernel, bias], sides);
    const flat = builder.node('Reshape', [maps, builder.integers([1, hiddenSize, -1])]);
    const patches = builder.node('Transpose', [flat], { perm: [0, 2, 1] });
    return builder.node('Add', [patches, this.placeTable(`${name}.position_embedding.weight`)]);
  }

  /** The rows of the table of places that patches have. Idefics3 finds them by fractions, rounded as float32. */
  private placeTable(name: string): ValueName {
    const { builder, parts, source, grid } = this;
    const { hiddenSize, projector } = this.shape;
    if (projector.kind === 'means') return parts.table(name, grid ** 2, hiddenSize);
    parts.require(name, [grid ** 2, hiddenSize]);
    const places = placesOfFractions(grid);
    return builder.weight(name, 'float32', [grid ** 2, hiddenSize], async function* () {
      const table = await source.rows(name, 0, grid ** 2);
      for (const row of places) {
        const rows = places.map((column) => (row * grid + column) * hiddenSize);
        const values = new Float32Array(grid * hiddenSize);
        rows.forEach((from, at) => values.set(table.subarray(from, from + hiddenSize), at * hiddenSize));
        yield bytesOf(values);
      }
    });
  }

  private layer(layer: number, input: ValueName): ValueName {
    const { builder, parts } = this;
    const { hiddenSize, feedForwardSize, heads, activation } = this.shape;
    const name = `${this.shape.tower}.encoder.layers.${layer}`;
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

  /** Patches of a square become one token, row by row in it. */
  private join(hidden: ValueName): void {
    const { builder, parts, grid } = this;
    const { hiddenSize, pooled, outputSize } = this.shape;
    const side = grid / pooled;
    const squares = builder.node('Reshape', [hidden, builder.integers([side, pooled, side, pooled * hiddenSize])]);
    const turned = builder.node('Transpose', [squares], { perm: [0, 2, 1, 3] });
    const inputs = pooled ** 2 * hiddenSize;
    const tokens = builder.node('Reshape', [turned, builder.integers([-1, inputs])]);
    const layer = { name: connector, inputs, outputs: outputSize, hasBias: false };
    builder.node('Identity', [parts.linear(tokens, layer)], {}, output);
  }

  private normOfPool(pooled: ValueName, { gainFromOne }: { gainFromOne: boolean }): ValueName {
    const { hiddenSize } = this.shape;
    const added = gainFromOne ? 1 : 0;
    return this.parts.rmsNorm(pooled, `${means}.mm_soft_emb_norm`, hiddenSize, {
      epsilon: epsilonOfProjector,
      added,
    });
  }

  /** Stored as it is multiplied, unlike linear layers. */
  private projection(): ValueName {
    const { builder, parts, source } = this;
    const { hiddenSize, outputSize } = this.shape;
    const name = `${means}.mm_input_projection_weight`;
    parts.require(name, [hiddenSize, outputSize]);
    return builder.weight(name, 'float32', [hiddenSize, outputSize], async function* () {
      yield bytesOf(await source.rows(name, 0, hiddenSize));
    });
  }
}

/** For each patch of a side, the number of boundaries at or before it, computed in float32. */
function placesOfFractions(grid: number): number[] {
  const boundaries = Array.from({ length: grid - 1 }, (_, index) => Math.fround((index + 1) * (1 / grid)));
  const step = Math.fround(1 / grid);
  const last = Math.fround(1 - 1e-6);
  return Array.from({ length: grid }, (_, index) => {
    const at = Math.min(last, Math.fround(index * step));
    return boundaries.filter((boundary) => boundary <= at).length;
  });
}
