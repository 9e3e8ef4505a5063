import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { LinearFormat } from '../decoder/index.js';
import { type LayerActivation, CheckedLayers } from '../layers/checked-layers.js';
import type { CheckedSource } from '../layers/checked-source.js';

/** The layers behind an encoder: those of Gemma 3, those of Idefics3 and SmolVLM, or those of LLaVA. */
export type SiglipProjector =
  /** Means of squares of patches, normed; the gain may be stored as its difference from one. */
  | { kind: 'means'; gainFromOne: boolean }
  /** Squares of patches side by side. */
  | { kind: 'joined' }
  /** Two linear layers, of what a layer before the last may return. */
  | { kind: 'two-layers'; activation: LayerActivation; hasBias: boolean };

/** Everything that determines an encoder like SigLIP or CLIP and what is behind it, except its weights. */
export interface SiglipShape {
  /** Those that are computed; files may have more. */
  layers: number;
  storedLayers?: number;
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
  /** A learned place before the patches stands for the whole image, and all are normed first (CLIP). */
  summary?: { isKept: boolean };
  /** Name of a vector that ends a row of tokens (LLaVA 1.6), which the graph returns behind the tokens. */
  lineEnd?: string;
  /** True for tensors that are stored and not needed. */
  isUnneeded?: (name: string) => boolean;
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
    const last = (shape.storedLayers ?? shape.layers) - 1;
    parts.require(`${shape.tower}.encoder.layers.${last}.layer_norm1.weight`, [shape.hiddenSize]);
    this.project(hidden);
    const tokens = (this.grid / shape.pooled) ** 2 + (shape.summary?.isKept ? 1 : 0) + (shape.lineEnd ? 1 : 0);
    builder.output(output, 'float32', [tokens, shape.outputSize]);
    parts.refuseUnread(shape.isUnneeded);
    return builder.build();
  }

  /** Adds the layers behind the encoder. */
  private project(hidden: ValueName): void {
    const { builder, parts } = this;
    const { projector, tower, hiddenSize } = this.shape;
    if (projector.kind === 'two-layers') return this.projectTwice(hidden, projector);
    const normed = parts.layerNorm(hidden, `${tower}.post_layernorm`, hiddenSize);
    if (projector.kind === 'joined') this.join(normed);
    else builder.node('MatMul', [this.normOfPool(this.pool(normed), projector), this.projection()], {}, output);
  }

  private projectTwice(
    hidden: ValueName,
    { activation, hasBias }: Extract<SiglipProjector, { kind: 'two-layers' }>,
  ): void {
    const { builder, parts } = this;
    const { hiddenSize, outputSize, summary, lineEnd } = this.shape;
    const first = builder.integers([summary && !summary.isKept ? 1 : 0]);
    const kept = builder.node('Slice', [hidden, first, builder.integers([2 ** 31 - 1]), builder.integers([1])]);
    const tokens = builder.node('Reshape', [kept, builder.integers([-1, hiddenSize])]);
    const layer = (place: number, inputs: number) => ({
      name: `${means}.linear_${place}`,
      inputs,
      outputs: outputSize,
      hasBias,
    });
    const wide = parts.activate(parts.linear(tokens, layer(1, hiddenSize)), activation);
    const projected = parts.linear(wide, layer(2, outputSize));
    if (lineEnd === undefined) builder.node('Identity', [projected], {}, output);
    else {
      const end = builder.node('Reshape', [parts.vector(lineEnd, outputSize), builder.integers([1, outputSize])]);
      builder.node('Concat', [projected, end], { axis: 0 }, output);
    }
  }

  /** `[1, patches, hidden]`. */
  private embed(): ValueName {
    const { builder, parts, shape } = this;
    const { patchSide: side, hiddenSize } = shape;
    const name = `${this.shape.tower}.embeddings`;
    const kernel = parts.kernel(`${name}.patch_embedding.weight`, [hiddenSize, 3, side, side]);
    const bias = shape.summary ? [] : [parts.vector(`${name}.patch_embedding.bias`, hiddenSize)];
    const sides = { kernel_shape: [side, side], strides: [side, side] };
    const image = builder.node('Reshape', ['pixel_values', builder.integers([1, 3, shape.imageSide, shape.imageSide])]);
    const maps = builder.node('Conv', [image, kernel, ...bias], sides);
    const flat = builder.node('Reshape', [maps, builder.integers([1, hiddenSize, -1])]);
    const patches = builder.node('Transpose', [flat], { perm: [0, 2, 1] });
    const table = `${name}.position_embedding.weight`;
    if (!shape.summary) return builder.node('Add', [patches, this.placeTable(table)]);
    const summary = parts.vector(`${name}.class_embedding`, hiddenSize);
    const leading = builder.node('Reshape', [summary, builder.integers([1, 1, hiddenSize])]);
    const all = builder.node('Concat', [leading, patches], { axis: 1 });
    const placed = builder.node('Add', [all, parts.table(table, this.grid ** 2 + 1, hiddenSize)]);
    // The name is misspelled in all files.
    return parts.layerNorm(placed, `${shape.tower}.pre_layrnorm`, hiddenSize);
  }

  /** The rows of the table of places that patches have. Idefics3 finds them by fractions, rounded as float32. */
  private placeTable(name: string): ValueName {
    const { builder, parts, source, grid } = this;
    const { hiddenSize, projector } = this.shape;
    if (projector.kind !== 'joined') return parts.table(name, grid ** 2, hiddenSize);
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
