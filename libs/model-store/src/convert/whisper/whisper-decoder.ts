import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { LinearFormat } from '../decoder/index.js';
import { canShareTable, SharedTable } from '../decoder/shared-table.js';
import { CheckedLayers } from '../layers/checked-layers.js';
import { normEpsilon, type WhisperShape } from './whisper-shape.js';
import type { WhisperWeights } from './whisper-weights.js';

/** Added to the scores of tokens that come later. */
const maskedScore = -1e9;
/** Tensors of the other graph, and the output layer, which is the embeddings. */
const otherTensors = /^(?:model\.)?(?:encoder[./]|proj_out\.)/;
const embeddings = 'decoder.embed_tokens.weight';

/** A linear layer as wide as the decoder on both sides. */
interface Projection {
  name: string;
  hasBias?: boolean;
}

/** Keys and values, `[batch, heads, positions, head size]`. */
interface KeyValues {
  key: ValueName;
  value: ValueName;
}

/**
 * Builds the decoder of Whisper with the inputs and outputs of exports for transformers.js (`MergedDecoder`). The keys and
 * values of the encoder's output are computed only without `use_cache_branch`.
 */
export function emitWhisperDecoder(shape: WhisperShape, weights: WhisperWeights, linear: LinearFormat): OnnxGraph {
  return new WhisperDecoder(shape, weights, linear).emit();
}

class WhisperDecoder {
  private readonly builder = new GraphBuilder('whisper_decoder');
  private readonly parts: CheckedLayers;
  private readonly table: SharedTable;
  private readonly headSize: number;

  constructor(
    private readonly shape: WhisperShape,
    weights: WhisperWeights,
    linear: LinearFormat,
  ) {
    this.parts = new CheckedLayers(this.builder, weights, { epsilon: normEpsilon, linear });
    const layer = { name: embeddings, inputs: shape.hiddenSize, outputs: shape.vocabularySize };
    // One table is both, so that it needs to be stored once.
    const formats = { head: linear, embedding: 'float32' as const, keepsValues: true };
    const isShared = canShareTable({ tiedHead: true, hiddenSize: shape.hiddenSize }, formats);
    this.table = new SharedTable(this.builder, weights, isShared ? linear : { kind: 'float32' }, layer, embeddings);
    this.headSize = shape.hiddenSize / shape.decoder.heads;
  }

  emit(): OnnxGraph {
    const { builder, parts } = this;
    const { hiddenSize, vocabularySize, sourcePositions, decoder } = this.shape;
    const ids = builder.input('input_ids', 'int64', ['batch', 'tokens']);
    const encoded = builder.input('encoder_hidden_states', 'float32', ['batch', sourcePositions, hiddenSize]);
    const isCached = builder.input('use_cache_branch', 'bool', [1]);
    const pasts = Array.from({ length: decoder.layers }, (_, layer) => ({
      own: this.past(`past_key_values.${layer}.decoder`, 'past_tokens'),
      encoded: this.past(`past_key_values.${layer}.encoder`, 'past_positions'),
    }));
    builder.output('logits', 'float32', ['batch', 'tokens', vocabularySize]);
    const { positions, mask } = this.places(ids, pasts[0]?.own.key ?? '');
    const table = parts.table('decoder.embed_positions.weight', this.shape.targetPositions, hiddenSize);
    let hidden = builder.node('Add', [this.embed(ids), builder.node('Gather', [table, positions])]);
    for (const [layer, past] of pasts.entries()) {
      const name = `decoder.layers.${layer}`;
      const own = this.attendTokens(layer, {
        input: this.norm(hidden, `${name}.self_attn_layer_norm`),
        mask,
        past: past.own,
      });
      hidden = builder.node('Add', [hidden, own]);
      const input = this.norm(hidden, `${name}.encoder_attn_layer_norm`);
      const heard = this.attendEncoded(layer, { input, encoded, isCached, past: past.encoded });
      hidden = builder.node('Add', [hidden, heard]);
      hidden = builder.node('Add', [hidden, this.feedForward(name, this.norm(hidden, `${name}.final_layer_norm`))]);
    }
    builder.node('Identity', [this.table.product(this.norm(hidden, 'decoder.layer_norm'))], {}, 'logits');
    parts.refuseUnread((name) => otherTensors.test(name));
    return builder.build();
  }

  private past(name: string, positions: string): KeyValues {
    const dimensions = ['batch', this.shape.decoder.heads, positions, this.headSize];
    const [key = '', value = ''] = ['key', 'value'].map((part) =>
      this.builder.input(`${name}.${part}`, 'float32', dimensions),
    );
    return { key, value };
  }

  /** The positions of the tokens, and what their scores with all tokens get added. */
  private places(ids: ValueName, pastKey: ValueName): { positions: ValueName; mask: ValueName } {
    const { builder } = this;
    const sizeOf = (value: ValueName, axis: number) =>
      builder.node('Squeeze', [builder.node('Shape', [value], { start: axis, end: axis + 1 })]);
    const past = sizeOf(pastKey, 2);
    const all = builder.node('Add', [past, sizeOf(ids, 1)]);
    const positions = builder.node('Range', [past, all, builder.integers(1)]);
    const columns = builder.node('Range', [builder.integers(0), all, builder.integers(1)]);
    const rows = builder.node('Unsqueeze', [positions, builder.integers([1])]);
    const later = builder.node('Cast', [builder.node('Greater', [columns, rows])], { to: onnxDataTypeCode.float32 });
    return { positions, mask: builder.node('Mul', [later, builder.float(maskedScore)]) };
  }

  private embed(ids: ValueName): ValueName {
    const { hiddenSize, vocabularySize } = this.shape;
    this.parts.require(embeddings, [vocabularySize, hiddenSize]);
    const rows = this.table.rows(ids);
    return rows ?? this.builder.node('Gather', [this.parts.table(embeddings, vocabularySize, hiddenSize), ids]);
  }

  private attendTokens(
    layer: number,
    { input, mask, past }: { input: ValueName; mask: ValueName; past: KeyValues },
  ): ValueName {
    const { builder, parts } = this;
    const name = `decoder.layers.${layer}.self_attn`;
    const grown = (part: 'key' | 'value', projection: Projection): ValueName => {
      const output = `present.${layer}.decoder.${part}`;
      builder.output(output, 'float32', ['batch', this.shape.decoder.heads, 'all_tokens', this.headSize]);
      return builder.node(
        'Concat',
        [past[part], this.split(parts, this.project(parts, input, projection))],
        { axis: 2 },
        output,
      );
    };
    const key = grown('key', { name: `${name}.k_proj`, hasBias: false });
    const value = grown('value', { name: `${name}.v_proj` });
    const query = this.split(parts, this.project(parts, input, { name: `${name}.q_proj` }));
    const { mixed } = this.attend(builder, { query, key, value, mask });
    return this.project(parts, mixed, { name: `${name}.out_proj` });
  }

  /** Attends to what the encoder heard. The first run of a text returns its keys and values; the others take them. */
  private attendEncoded(
    layer: number,
    { input, encoded, isCached, past }: { input: ValueName; encoded: ValueName; isCached: ValueName; past: KeyValues },
  ): ValueName {
    const { builder, parts } = this;
    const name = `decoder.layers.${layer}.encoder_attn`;
    const query = this.split(parts, this.project(parts, input, { name: `${name}.q_proj` }));
    const { heads } = this.shape.decoder;
    const branchOf = (
      label: string,
      keyValuesOf: (branch: GraphBuilder) => { used: KeyValues; returned: KeyValues },
    ) => {
      const branch = builder.branch(`${label}_${layer}`);
      const { used, returned } = keyValuesOf(branch);
      const { mixed, weights } = this.attend(branch, { query, ...used });
      for (const value of [mixed, weights, returned.key, returned.value]) {
        branch.output(branch.node('Identity', [value]), 'float32', null);
      }
      return { graph: branch.build() };
    };
    const first = branchOf('first', (branch) => {
      const inner = parts.in(branch);
      const part = (projection: Projection) => this.split(inner, this.project(inner, encoded, projection));
      const used = { key: part({ name: `${name}.k_proj`, hasBias: false }), value: part({ name: `${name}.v_proj` }) };
      return { used, returned: used };
    });
    const later = branchOf('later', (branch) => {
      const nothing = branch.node('Slice', [
        past.key,
        branch.integers([0]),
        branch.integers([0]),
        branch.integers([2]),
      ]);
      return { used: past, returned: { key: nothing, value: nothing } };
    });
    const mixed = builder.freshName('heard');
    const weights = `cross_attentions.${layer}`;
    const present = ['key', 'value'].map((part) => `present.${layer}.encoder.${part}`);
    builder.nodeWithOutputs('If', [isCached], [mixed, weights, ...present], { then_branch: later, else_branch: first });
    builder.output(weights, 'float32', ['batch', heads, 'tokens', this.shape.sourcePositions]);
    for (const output of present) builder.output(output, 'float32', ['batch', heads, 'positions', this.headSize]);
    return this.project(parts, mixed, { name: `${name}.out_proj` });
  }

  private attend(
    builder: GraphBuilder,
    { query, key, value, mask }: { query: ValueName; mask?: ValueName } & KeyValues,
  ): { mixed: ValueName; weights: ValueName } {
    const scale = { float: 1 / Math.sqrt(this.headSize) };
    const scores = builder.contribNode('FusedMatMul', [query, key], { transA: 0, transB: 1, alpha: scale });
    const visible = mask === undefined ? scores : builder.node('Add', [scores, mask]);
    const weights = builder.node('Softmax', [visible], { axis: -1 });
    const heads = builder.node('Transpose', [builder.node('MatMul', [weights, value])], { perm: [0, 2, 1, 3] });
    return { mixed: builder.node('Reshape', [heads, builder.integers([0, 0, this.shape.hiddenSize])]), weights };
  }

  private project(parts: CheckedLayers, input: ValueName, projection: Projection): ValueName {
    const { hiddenSize } = this.shape;
    return parts.linear(input, { ...projection, inputs: hiddenSize, outputs: hiddenSize });
  }

  /** `[batch, positions, hidden]` by heads. */
  private split({ builder }: CheckedLayers, value: ValueName): ValueName {
    const sizes = builder.integers([0, 0, this.shape.decoder.heads, this.headSize]);
    return builder.node('Transpose', [builder.node('Reshape', [value, sizes])], { perm: [0, 2, 1, 3] });
  }

  private feedForward(name: string, input: ValueName): ValueName {
    const { parts } = this;
    const { hiddenSize, decoder } = this.shape;
    const wide = parts.linear(input, { name: `${name}.fc1`, inputs: hiddenSize, outputs: decoder.feedForwardSize });
    const narrow = { name: `${name}.fc2`, inputs: decoder.feedForwardSize, outputs: hiddenSize };
    return parts.linear(parts.activate(wide, 'gelu'), narrow);
  }

  /** One node, because a step of one token is many small ones. */
  private norm(input: ValueName, name: string): ValueName {
    const { builder, parts } = this;
    const { hiddenSize } = this.shape;
    const inputs = [input, parts.vector(`${name}.weight`, hiddenSize), parts.vector(`${name}.bias`, hiddenSize)];
    return builder.node('LayerNormalization', inputs, { axis: -1, epsilon: { float: normEpsilon } });
  }
}
