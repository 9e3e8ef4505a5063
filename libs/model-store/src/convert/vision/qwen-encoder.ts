import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import type { LinearFormat } from '../decoder/index.js';
import { type LayerActivation, CheckedLayers } from '../layers/checked-layers.js';
import type { CheckedSource } from '../layers/checked-source.js';

/** Everything that determines the encoder of a Qwen model that sees, except its weights. */
export interface QwenVisionShape {
  kind: 'qwen2' | 'qwen2.5' | 'qwen3';
  layers: number;
  hiddenSize: number;
  heads: number;
  feedForwardSize: number;
  activation: LayerActivation;
  /** Samples of a patch: channels, moments, rows and columns. */
  patchSize: number;
  /** Patches that become one token lie in a square of this side. */
  merge: number;
  /** Of the decoder. */
  outputSize: number;
  /** Rows of the learned table of places, which is a square; 0: there is none. */
  places: number;
  /** Layers whose outputs become further features of a token (Qwen3-VL). */
  deepLayers: readonly number[];
  /** Layers whose patches see the whole image, others see a window; null: all do. */
  wholeLayers: readonly number[] | null;
}

const root = 'visual';
const epsilon = 1e-6;
const rotaryBase = 10_000;

/**
 * Builds the encoder of one image as a graph:
 *
 * - input `pixel_values`: float32 [patches, samples], in groups that become one token
 * - input `patch_places`: int64 [2, patches], row and column of each patch
 * - inputs `table_places` and `table_weights`, with a table of places: int64 and float32 [4, patches], its four rows
 *   around each patch, and how much they count
 * - inputs `window_patches`, `window_mask` and `patch_windows`, with windows: int64 and int32 [windows, length], the patches of
 *   each window and 1 for those that exist; int64 [patches], the place of each patch among those of all windows
 * - output `image_features`: float32 [tokens, width * (1 + deep layers)]
 */
export function emitQwenEncoder(shape: QwenVisionShape, source: CheckedSource, linear: LinearFormat): OnnxGraph {
  return new QwenEncoder(shape, source, linear).emit();
}

class QwenEncoder {
  private readonly builder = new GraphBuilder('vision');
  private readonly parts: CheckedLayers;
  private readonly tables: [cosines: ValueName, sines: ValueName];

  constructor(
    private readonly shape: QwenVisionShape,
    source: CheckedSource,
    linear: LinearFormat,
  ) {
    const { builder } = this;
    this.parts = new CheckedLayers(builder, source, { epsilon, linear });
    builder.input('pixel_values', 'float32', ['patches', shape.patchSize]);
    builder.input('patch_places', 'int64', [2, 'patches']);
    if (shape.wholeLayers !== null) {
      builder.input('window_patches', 'int64', ['windows', 'length']);
      builder.input('window_mask', 'int32', ['windows', 'length']);
      builder.input('patch_windows', 'int64', ['patches']);
    }
    this.tables = this.rotation();
  }

  emit(): OnnxGraph {
    const { builder, shape, parts } = this;
    const deep: ValueName[] = [];
    let hidden = this.embed();
    for (let layer = 0; layer < shape.layers; layer++) {
      hidden = this.layer(layer, hidden);
      const place = shape.deepLayers.indexOf(layer);
      if (place >= 0) deep[place] = this.mergeDeep(`${root}.deepstack_merger_list.${place}`, hidden);
    }
    const features = [this.merge(hidden), ...deep];
    if (features.length === 1) builder.node('Identity', features, {}, 'image_features');
    else builder.node('Concat', features, { axis: -1 }, 'image_features');
    builder.output('image_features', 'float32', ['tokens', shape.outputSize * features.length]);
    parts.refuseUnread();
    return builder.build();
  }

  /** `[1, patches, hidden]`. */
  private embed(): ValueName {
    const { builder, shape, parts } = this;
    const { patchSize, hiddenSize, places, kind } = shape;
    const hasBias = kind === 'qwen3';
    const layer = { name: `${root}.patch_embed.proj`, inputs: patchSize, outputs: hiddenSize, hasBias };
    const patches = parts.linear('pixel_values', layer);
    if (places === 0) return this.unsqueeze(patches, 0);
    builder.input('table_places', 'int64', [4, 'patches']);
    builder.input('table_weights', 'float32', [4, 'patches']);
    const table = parts.table(`${root}.pos_embed.weight`, places, hiddenSize);
    const rows = builder.node('Gather', [table, 'table_places']);
    const weighted = builder.node('Mul', [rows, this.unsqueeze('table_weights', 2)]);
    const placed = builder.node('ReduceSum', [weighted, builder.integers([0])], { keepdims: 0 });
    return this.unsqueeze(builder.node('Add', [patches, placed]), 0);
  }

  private layer(layer: number, input: ValueName): ValueName {
    const { builder } = this;
    const name = `${root}.blocks.${layer}`;
    const attended = this.attention(layer, this.norm(input, `${name}.norm1`));
    const middle = builder.node('Add', [input, attended]);
    return builder.node('Add', [middle, this.feedForward(`${name}.mlp`, this.norm(middle, `${name}.norm2`))]);
  }

  private attention(layer: number, input: ValueName): ValueName {
    const { builder, parts } = this;
    const { hiddenSize, heads, wholeLayers } = this.shape;
    const name = `${root}.blocks.${layer}.attn`;
    const projected = parts.linear(input, { name: `${name}.qkv`, inputs: hiddenSize, outputs: 3 * hiddenSize });
    const split = ['query', 'key', 'value'].map((part) => builder.freshName(part));
    const sizes = builder.integers([hiddenSize, hiddenSize, hiddenSize]);
    builder.nodeWithOutputs('Split', [projected, sizes], split, { axis: -1 });
    const [query = '', key = '', value = ''] = split;
    const rotated = [query, key].map((each) =>
      builder.contribNode('RotaryEmbedding', [each, builder.integers([0]), ...this.tables], {
        num_heads: heads,
        interleaved: 0,
      }),
    );
    const seesAll = wholeLayers === null || wholeLayers.includes(layer);
    const inputs = [...rotated, value];
    const mixed = seesAll
      ? builder.contribNode('MultiHeadAttention', inputs, { num_heads: heads })
      : this.attendInWindows(inputs);
    return parts.linear(mixed, { name: `${name}.proj`, inputs: hiddenSize, outputs: hiddenSize });
  }

  /** Windows are the rows of a batch. Those at the right and lower edge have fewer patches. */
  private attendInWindows(inputs: ValueName[]): ValueName {
    const { builder } = this;
    const { heads, hiddenSize } = this.shape;
    const windowed = inputs.map((each) => {
      const rows = builder.node('Squeeze', [each, builder.integers([0])]);
      return builder.node('Gather', [rows, 'window_patches']);
    });
    const mixed = builder.contribNode('MultiHeadAttention', [...windowed, '', 'window_mask'], { num_heads: heads });
    const flat = builder.node('Reshape', [mixed, builder.integers([-1, hiddenSize])]);
    return this.unsqueeze(builder.node('Gather', [flat, 'patch_windows']), 0);
  }

  private feedForward(name: string, input: ValueName): ValueName {
    const { builder, parts } = this;
    const { hiddenSize, feedForwardSize, activation, kind } = this.shape;
    const wide = (part: string) =>
      parts.linear(input, { name: `${name}.${part}`, inputs: hiddenSize, outputs: feedForwardSize });
    const narrow = (inner: ValueName, part: string) =>
      parts.linear(inner, { name: `${name}.${part}`, inputs: feedForwardSize, outputs: hiddenSize });
    if (kind === 'qwen2.5') {
      const gated = builder.node('Mul', [parts.activate(wide('gate_proj'), activation), wide('up_proj')]);
      return narrow(gated, 'down_proj');
    }
    const [first, second] = kind === 'qwen2' ? ['fc1', 'fc2'] : ['linear_fc1', 'linear_fc2'];
    return narrow(parts.activate(wide(first ?? ''), activation), second ?? '');
  }

  private norm(input: ValueName, name: string): ValueName {
    const { hiddenSize, kind } = this.shape;
    return kind === 'qwen2.5'
      ? this.parts.rmsNorm(input, name, hiddenSize)
      : this.parts.layerNorm(input, name, hiddenSize);
  }

  /** `[tokens, width]` of the decoder. */
  private merge(hidden: ValueName): ValueName {
    const name = `${root}.merger`;
    if (this.shape.kind === 'qwen3') {
      return this.narrow(this.grouped(this.norm(hidden, `${name}.norm`)), [`${name}.linear_fc1`, `${name}.linear_fc2`]);
    }
    return this.narrow(this.grouped(this.norm(hidden, `${name}.ln_q`)), [`${name}.mlp.0`, `${name}.mlp.2`]);
  }

  /** Unlike the features of a token, these are normed in groups. */
  private mergeDeep(name: string, hidden: ValueName): ValueName {
    const grouped = this.parts.layerNorm(this.grouped(hidden), `${name}.norm`, this.groupSize);
    return this.narrow(grouped, [`${name}.linear_fc1`, `${name}.linear_fc2`]);
  }

  private narrow(grouped: ValueName, [first, second]: readonly [string, string]): ValueName {
    const { groupSize, parts } = this;
    const inner = parts.linear(grouped, { name: first, inputs: groupSize, outputs: groupSize });
    const layer = { name: second, inputs: groupSize, outputs: this.shape.outputSize };
    return parts.linear(parts.activate(inner, 'gelu'), layer);
  }

  private get groupSize(): number {
    return this.shape.hiddenSize * this.shape.merge ** 2;
  }

  private grouped(hidden: ValueName): ValueName {
    return this.builder.node('Reshape', [hidden, this.builder.integers([-1, this.groupSize])]);
  }

  /** The first half of the pairs turns by the row of a patch, the second by its column: `[patches, pairs]`. */
  private rotation(): [cosines: ValueName, sines: ValueName] {
    const { builder } = this;
    const half = this.shape.hiddenSize / this.shape.heads / 2;
    const perAxis = half / 2;
    const frequencies = Float32Array.from({ length: perAxis }, (_, pair) => rotaryBase ** (-pair / perAxis));
    const turned = builder.weight('rotary_frequencies', 'float32', [1, 1, perAxis], () => bytesOf(frequencies));
    const places = builder.node('Cast', ['patch_places'], { to: onnxDataTypeCode.float32 });
    const columns = this.unsqueeze(builder.node('Transpose', [places], { perm: [1, 0] }), 2);
    const angles = builder.node('Reshape', [builder.node('Mul', [columns, turned]), builder.integers([-1, half])]);
    return [builder.node('Cos', [angles]), builder.node('Sin', [angles])];
  }

  private unsqueeze(value: ValueName, axis: number): ValueName {
    return this.builder.node('Unsqueeze', [value, this.builder.integers([axis])]);
  }
}
