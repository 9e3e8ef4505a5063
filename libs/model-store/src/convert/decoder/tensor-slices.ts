import type { Architecture } from './architecture.js';
import {
  attends,
  convolvedChannels,
  type DecoderShape,
  type ExpertShape,
  expertsOf,
  feedForwardSize,
  headSizeOf,
  keyValueHeadsOf,
  layerTableRows,
  type GatedDelta,
  type IndexerShape,
  type LatentShape,
  type LayerPart,
  type Mamba,
  type ResidualStreamsShape,
  type ShortConvolution,
  weightNames,
} from './decoder-shape.js';
import { deltaParts } from './delta-slices.js';
import type { RowGroups } from './grouped-rows.js';

/** Rows of a source tensor that make up one weight of the graph. */
export interface TensorSlice {
  tensor: string;
  from: number;
  rows: number;
  /** Values per row; a vector is one row. */
  columns: number;
  /** Experts, or heads, are stacked in a dimension of their own. */
  experts?: number;
  /** The slice is one of so many matrices of its size in the tensor, which are stacked in a dimension of their own. */
  stacked?: number;
  /** The rows are in several places of the tensor; `from` is 0. */
  groups?: RowGroups;
}

export type HasTensor = (name: string) => boolean;

const tensorNames: Record<LayerPart, string> = {
  attention_norm: 'attn_norm',
  query: 'attn_q',
  key: 'attn_k',
  value: 'attn_v',
  query_norm: 'attn_q_norm',
  key_norm: 'attn_k_norm',
  sinks: 'attn_sinks',
  attention_output: 'attn_output',
  attention_post_norm: 'post_attention_norm',
  latent_query_in: 'attn_q_a',
  latent_query_norm: 'attn_q_a_norm',
  latent_query: 'attn_q_b',
  latent: 'attn_kv_a_mqa',
  latent_norm: 'attn_kv_a_norm',
  latent_key_value: 'attn_kv_b',
  latent_key: 'attn_k_b',
  latent_value: 'attn_v_b',
  index_query: 'indexer.attn_q_b',
  index_key: 'indexer.attn_k',
  index_key_norm: 'indexer.k_norm',
  index_weights: 'indexer.proj',
  convolution_in: 'shortconv.in_proj',
  convolution: 'shortconv.conv',
  convolution_out: 'shortconv.out_proj',
  delta_in: 'attn_qkv',
  delta_gate: 'attn_gate',
  delta_decay: 'ssm_alpha',
  delta_decay_bias: 'ssm_dt',
  delta_decay_scale: 'ssm_a',
  delta_rate: 'ssm_beta',
  delta_norm: 'ssm_norm',
  delta_out: 'ssm_out',
  mamba_gate: 'ssm_in',
  mamba_in: 'ssm_in',
  mamba_step: 'ssm_in',
  mamba_step_bias: 'ssm_dt',
  mamba_decay: 'ssm_a',
  mamba_skip: 'ssm_d',
  mamba_norm: 'ssm_norm',
  mamba_out: 'ssm_out',
  feed_forward_norm: 'ffn_norm',
  gate: 'ffn_gate',
  up: 'ffn_up',
  down: 'ffn_down',
  router: 'ffn_gate_inp',
  router_selection: 'exp_probs_b',
  expert_in: 'ffn_latent_down',
  expert_out: 'ffn_latent_up',
  expert_gate: 'ffn_gate_exps',
  expert_up: 'ffn_up_exps',
  expert_down: 'ffn_down_exps',
  shared_router: 'ffn_gate_inp_shexp',
  shared_gate: 'ffn_gate_shexp',
  shared_up: 'ffn_up_shexp',
  shared_down: 'ffn_down_shexp',
  router_norm: 'ffn_gate_inp.scale',
  expert_scale: 'ffn_down_exps.scale',
  expert_norm: 'pre_ffw_norm_2',
  expert_post_norm: 'post_ffw_norm_2',
  beside_post_norm: 'post_ffw_norm_1',
  feed_forward_post_norm: 'post_ffw_norm',
  input_gate: 'inp_gate',
  input_projection: 'proj',
  input_post_norm: 'post_norm',
  layer_scale: 'layer_output_scale',
  laurel_in: 'laurel_l',
  laurel_out: 'laurel_r',
  laurel_norm: 'laurel_post_norm',
  stream_norm: 'altup_router_norm',
  stream_router: 'altup_router',
  stream_prediction: 'altup_predict_coef',
  stream_correction: 'altup_correct_coef',
  stream_scale: 'altup_correct_scale',
};

/** Finds each weight of the graph in a checkpoint, also where layers are stored as one (`attn_qkv`, gate in `ffn_up`). */
export class TensorSlices {
  private readonly slices = new Map<string, TensorSlice>();

  constructor(
    private readonly shape: DecoderShape,
    private readonly architecture: Architecture,
    private readonly has: HasTensor,
  ) {
    const { hiddenSize, vocabularySize, tiedHead, norm, bias } = shape;
    const table = { from: 0, rows: vocabularySize, columns: hiddenSize };
    this.slices.set(weightNames.embedding, { ...table, tensor: 'token_embd.weight' });
    const head = tiedHead ? 'token_embd.weight' : 'output.weight';
    if (!shape.headless) this.slices.set(weightNames.head, { ...table, tensor: head });
    if (bias.head && !shape.headless) this.addVector(weightNames.bias(weightNames.head), 'output.bias', vocabularySize);
    const finalNorm = architecture.finalNorm ?? 'output_norm';
    this.addVector(weightNames.finalNorm, `${finalNorm}.weight`, hiddenSize);
    if (norm.bias) this.addVector(weightNames.bias(weightNames.finalNorm), `${finalNorm}.bias`, hiddenSize);
    if (shape.layerInputs) this.addLayerTable(shape.layerInputs.size);
    if (shape.residualStreams) this.addStreams(shape.residualStreams);
    for (let layer = 0; layer < shape.layers; layer++) this.addLayer(layer);
  }

  /** Throws for a name that is none of `weightNames`. */
  find(name: string): TensorSlice {
    const slice = this.slices.get(name);
    if (!slice) throw new Error(`The decoder has no weight ${name}.`);
    return slice;
  }

  /** Returns the dimensions that each tensor must have, innermost first. */
  expectedTensors(): Map<string, number[]> {
    const expected = new Map<string, number[]>();
    for (const { tensor, from, rows, columns, experts, groups, stacked } of this.slices.values()) {
      const isVector = columns > 0 && rows === 1;
      const known = expected.get(tensor);
      if (groups && experts) expected.set(tensor, [columns, groups.rows, experts]);
      else if (groups) expected.set(tensor, [columns, groups.groups * groups.rows]);
      else if (isVector) expected.set(tensor, [Math.max(known?.[0] ?? 0, from + columns)]);
      else if (experts) expected.set(tensor, [columns, rows / experts, experts]);
      else if (stacked) expected.set(tensor, [columns, rows, stacked]);
      else expected.set(tensor, [columns, Math.max(known?.[1] ?? 0, from + rows)]);
    }
    return expected;
  }

  private addLayerTable(size: number): void {
    const { hiddenSize, layers } = this.shape;
    const width = layers * size;
    this.slices.set(weightNames.layerTable, {
      tensor: 'per_layer_token_embd.weight',
      from: 0,
      rows: layerTableRows(this.shape),
      columns: width,
    });
    this.slices.set(weightNames.layerTableProjection, {
      tensor: 'per_layer_model_proj.weight',
      from: 0,
      rows: width,
      columns: hiddenSize,
    });
    this.addVector(weightNames.layerTableNorm, 'per_layer_proj_norm.weight', size);
  }

  private addStreams({ count }: ResidualStreamsShape): void {
    const { hiddenSize } = this.shape;
    for (let index = 0; index + 1 < count; index++) {
      const place = { from: index * hiddenSize, rows: hiddenSize, columns: hiddenSize, stacked: count - 1 };
      this.slices.set(weightNames.streamIn(index), { ...place, tensor: 'altup_proj.weight' });
      this.slices.set(weightNames.streamOut(index), { ...place, tensor: 'altup_unembd_proj.weight' });
    }
  }

  private addStreamParts(layer: number, { count, rank }: ResidualStreamsShape): void {
    const { hiddenSize } = this.shape;
    this.addPart(layer, 'laurel_in', { rows: rank, columns: hiddenSize });
    this.addPart(layer, 'laurel_out', { rows: hiddenSize, columns: rank });
    this.addPart(layer, 'stream_router', { rows: count, columns: hiddenSize });
    this.addPart(layer, 'stream_prediction', { rows: count ** 2, columns: count });
    this.addPart(layer, 'stream_correction', { rows: count, columns: count });
    for (const part of ['laurel_norm', 'stream_norm', 'stream_scale'] as const) {
      this.addPart(layer, part, { rows: 1, columns: hiddenSize });
    }
  }

  private addLayer(layer: number): void {
    const { shape } = this;
    const { hiddenSize, normPlacement = 'before' } = shape;
    const norms: LayerPart[] = [];
    if (normPlacement !== 'after') norms.push('attention_norm');
    if (normPlacement !== 'after' && !shape.parallelResidual && !shape.oneHalf) norms.push('feed_forward_norm');
    if (normPlacement !== 'before') norms.push('attention_post_norm', 'feed_forward_post_norm');
    for (const part of norms) this.addPart(layer, part, { rows: 1, columns: hiddenSize, bias: shape.norm.bias });
    const mixer = shape.mixers?.[layer];
    if (mixer?.kind === 'short-convolution') this.addConvolution(layer, mixer);
    else if (mixer?.kind === 'mamba') this.addMamba(layer, mixer);
    else if (mixer && mixer.kind !== 'none') this.addDelta(layer, mixer);
    if (shape.latent) this.addLatentAttention(layer, shape.latent);
    else if (attends(mixer)) this.addAttention(layer);
    if (shape.layerInputs) {
      const { size } = shape.layerInputs;
      this.addPart(layer, 'input_gate', { rows: size, columns: hiddenSize });
      this.addPart(layer, 'input_projection', { rows: hiddenSize, columns: size });
      this.addPart(layer, 'input_post_norm', { rows: 1, columns: hiddenSize });
    }
    if (shape.residualStreams) this.addStreamParts(layer, shape.residualStreams);
    if (shape.layerScale) this.addPart(layer, 'layer_scale', { rows: 1, columns: 1 });
    if (shape.oneHalf && mixer?.kind !== 'none') return;
    const experts = expertsOf(shape, layer);
    if (experts) this.addExperts(layer, experts);
    if (!experts || experts.beside) this.addFeedForward(layer);
  }

  private addAttention(layer: number): void {
    const { hiddenSize, heads, bias, queryKeyNorm, attention, sharedKeyValues, keysAsValues } = this.shape;
    const keyValueHeads = keyValueHeadsOf(this.shape, layer);
    const headSize = headSizeOf(this.shape, layer);
    const isShared = (sharedKeyValues?.[layer] ?? null) !== null;
    const sizes: [LayerPart, number][] = [
      ['query', (attention?.outputGate ? 2 : 1) * heads * headSize],
      ['key', keyValueHeads * headSize],
      ['value', keyValueHeads * headSize],
    ];
    const owned = isShared ? 1 : keysAsValues?.[layer] ? 2 : 3;
    const fused = `blk.${layer}.attn_qkv`;
    const isFused = this.has(`${fused}.weight`);
    let from = 0;
    for (const [part, rows] of sizes.slice(0, owned)) {
      const tensor = isFused ? fused : undefined;
      this.addPart(layer, part, { rows, columns: hiddenSize, bias: bias.queryKeyValue, tensor, from });
      if (isFused) from += rows;
    }
    const output = { rows: hiddenSize, columns: heads * headSize, bias: bias.attentionOutput };
    this.addPart(layer, 'attention_output', output);
    if (attention?.sinks) this.addPart(layer, 'sinks', { rows: 1, columns: heads });
    if (queryKeyNorm === 'none') return;
    for (const [part, count] of [
      ['query_norm', heads],
      ['key_norm', keyValueHeads],
    ] as const) {
      if (isShared && part === 'key_norm') continue;
      const vector = { rows: 1, columns: queryKeyNorm === 'head' ? headSize : count * headSize };
      const perHead = { rows: count, columns: headSize };
      this.addPart(layer, part, queryKeyNorm === 'layer' ? perHead : vector);
    }
  }

  private addLatentAttention(layer: number, latent: LatentShape): void {
    const { hiddenSize, heads, rotary } = this.shape;
    const { rank, queryRank, plainSize, valueSize } = latent;
    const rows = heads * (plainSize + rotary.dimensions);
    if (queryRank === null) {
      this.addPart(layer, 'latent_query', { rows, columns: hiddenSize, tensor: `blk.${layer}.${tensorNames.query}` });
    } else {
      this.addPart(layer, 'latent_query_in', { rows: queryRank, columns: hiddenSize });
      this.addPart(layer, 'latent_query_norm', { rows: 1, columns: queryRank });
      this.addPart(layer, 'latent_query', { rows, columns: queryRank });
    }
    this.addPart(layer, 'latent', { rows: rank + rotary.dimensions, columns: hiddenSize });
    this.addPart(layer, 'latent_norm', { rows: 1, columns: rank });
    if (latent.joined) {
      this.addPart(layer, 'latent_key_value', { rows: heads * (plainSize + valueSize), columns: rank });
    } else {
      this.addPart(layer, 'latent_key', { rows: heads * rank, columns: plainSize, experts: heads });
      this.addPart(layer, 'latent_value', { rows: heads * valueSize, columns: rank, experts: heads });
    }
    this.addPart(layer, 'attention_output', { rows: hiddenSize, columns: heads * valueSize });
    if (latent.indexer && queryRank !== null && !latent.indexer.reuses[layer]) {
      this.addIndexer(layer, latent.indexer, queryRank);
    }
  }

  private addIndexer(layer: number, { heads, size }: IndexerShape, queryRank: number): void {
    const { hiddenSize } = this.shape;
    this.addPart(layer, 'index_query', { rows: heads * size, columns: queryRank });
    this.addPart(layer, 'index_key', { rows: size, columns: hiddenSize });
    this.addPart(layer, 'index_key_norm', { rows: 1, columns: size, bias: true });
    this.addPart(layer, 'index_weights', { rows: heads, columns: hiddenSize });
  }

  private addConvolution(layer: number, { length, bias }: ShortConvolution): void {
    const { hiddenSize } = this.shape;
    this.addPart(layer, 'convolution_in', { rows: 3 * hiddenSize, columns: hiddenSize, bias });
    this.addPart(layer, 'convolution', { rows: hiddenSize, columns: length, bias });
    this.addPart(layer, 'convolution_out', { rows: hiddenSize, columns: hiddenSize, bias });
  }

  private addDelta(layer: number, mixer: GatedDelta): void {
    const { hiddenSize } = this.shape;
    const { valueHeads, valueSize, length } = mixer;
    for (const { part, ...place } of deltaParts(layer, mixer, { hiddenSize, has: this.has }))
      this.addPart(layer, part, { ...place, columns: hiddenSize });
    const channels = convolvedChannels(mixer, hiddenSize);
    this.addPart(layer, 'convolution', { rows: channels, columns: length, tensor: `blk.${layer}.ssm_conv1d` });
    this.addVector(weightNames.layer(layer, 'delta_decay_bias'), `blk.${layer}.ssm_dt.bias`, valueHeads);
    this.addVector(weightNames.layer(layer, 'delta_decay_scale'), `blk.${layer}.ssm_a`, valueHeads);
    this.addPart(layer, 'delta_norm', { rows: 1, columns: valueSize });
    this.addPart(layer, 'delta_out', { rows: hiddenSize, columns: valueHeads * valueSize });
  }

  private addMamba(layer: number, mixer: Mamba): void {
    const { hiddenSize } = this.shape;
    const { heads, headSize, length, convolutionBias: bias } = mixer;
    const [width, channels] = [heads * headSize, convolvedChannels(mixer, hiddenSize)];
    this.addPart(layer, 'mamba_gate', { rows: width, columns: hiddenSize });
    this.addPart(layer, 'mamba_in', { rows: channels, columns: hiddenSize, from: width });
    this.addPart(layer, 'mamba_step', { rows: heads, columns: hiddenSize, from: width + channels });
    this.addPart(layer, 'convolution', { rows: channels, columns: length, bias, tensor: `blk.${layer}.ssm_conv1d` });
    this.addVector(weightNames.layer(layer, 'mamba_step_bias'), `blk.${layer}.ssm_dt.bias`, heads);
    this.addVector(weightNames.layer(layer, 'mamba_decay'), `blk.${layer}.ssm_a`, heads);
    this.addVector(weightNames.layer(layer, 'mamba_skip'), `blk.${layer}.ssm_d`, heads);
    if (mixer.hasNorm) this.addPart(layer, 'mamba_norm', { rows: 1, columns: width });
    this.addPart(layer, 'mamba_out', { rows: hiddenSize, columns: width });
  }

  private addFeedForward(layer: number): void {
    const { hiddenSize, feedForward, bias } = this.shape;
    const { kind } = feedForward;
    const size = feedForwardSize(this.shape, layer);
    const wide = { rows: size, columns: hiddenSize, bias: bias.feedForward };
    const up = `blk.${layer}.ffn_up`;
    const isFused = kind.startsWith('gated-') && !this.has(`blk.${layer}.ffn_gate.weight`) && this.has(`${up}.weight`);
    if (kind.startsWith('gated-')) this.addPart(layer, 'gate', { ...wide, tensor: isFused ? up : undefined });
    this.addPart(layer, 'up', { ...wide, from: isFused ? size : 0 });
    this.addPart(layer, 'down', { rows: hiddenSize, columns: size, bias: bias.feedForward });
  }

  private addExperts(layer: number, experts: ExpertShape): void {
    const { count, bias, shared, selectionBias, latentSize } = experts;
    const { hiddenSize, feedForward } = this.shape;
    const { size, kind } = feedForward;
    const width = latentSize ?? hiddenSize;
    if (latentSize) {
      this.addPart(layer, 'expert_in', { rows: width, columns: hiddenSize });
      this.addPart(layer, 'expert_out', { rows: hiddenSize, columns: width });
    }
    if (shared) this.addSharedExpert(layer, shared);
    if (experts.beside) {
      for (const part of ['router_norm', 'expert_norm', 'expert_post_norm', 'beside_post_norm'] as const) {
        this.addPart(layer, part, { rows: 1, columns: hiddenSize });
      }
      this.addPart(layer, 'expert_scale', { rows: 1, columns: count });
    }
    this.addPart(layer, 'router', { rows: count, columns: hiddenSize, bias });
    if (selectionBias) {
      const name = weightNames.layer(layer, 'router_selection');
      this.addVector(name, `blk.${layer}.${tensorNames.router_selection}.bias`, count);
    }
    const wide = { rows: count * size, columns: width, experts: count };
    const fused = `blk.${layer}.ffn_gate_up_exps`;
    const isFused = this.has(`${fused}.weight`);
    for (const [part, from] of [
      ['expert_gate', 0],
      ['expert_up', size],
    ] as const) {
      if (part === 'expert_gate' && !kind.startsWith('gated-')) continue;
      const groups = { groups: count, rows: 2 * size, pieces: [{ from, rows: size }] };
      this.addPart(layer, part, isFused ? { ...wide, tensor: fused, groups } : wide);
    }
    this.addPart(layer, 'expert_down', { rows: count * width, columns: size, experts: count });
    if (!bias) return;
    const widths: [LayerPart, number][] = [
      ['expert_gate', size],
      ['expert_up', size],
      ['expert_down', hiddenSize],
    ];
    for (const [part, columns] of widths) {
      const name = weightNames.bias(weightNames.layer(layer, part));
      this.slices.set(name, { tensor: `blk.${layer}.${tensorNames[part]}.bias`, from: 0, rows: count, columns });
    }
  }

  private addSharedExpert(layer: number, { size, weighted }: NonNullable<ExpertShape['shared']>): void {
    const { hiddenSize } = this.shape;
    if (weighted) this.addPart(layer, 'shared_router', { rows: 1, columns: hiddenSize });
    const up = `blk.${layer}.ffn_up_shexp`;
    const isFused = !this.has(`blk.${layer}.ffn_gate_shexp.weight`) && this.has(`${up}.weight`);
    const wide = { rows: size, columns: hiddenSize };
    const isGated = this.shape.feedForward.kind.startsWith('gated-');
    if (isGated) this.addPart(layer, 'shared_gate', { ...wide, tensor: isFused ? up : undefined });
    this.addPart(layer, 'shared_up', { ...wide, from: isGated && isFused ? size : 0 });
    this.addPart(layer, 'shared_down', { rows: hiddenSize, columns: size });
  }

  private addPart(layer: number, part: LayerPart, place: PartPlace): void {
    const { rows, columns, bias, from = 0, experts, groups } = place;
    const own = this.architecture.tensorNames?.[part] ?? tensorNames[part];
    const tensor = place.tensor ?? `blk.${layer}.${own}`;
    const name = weightNames.layer(layer, part);
    // Files of Falcon-H1 have a norm without the ending.
    const stored = this.has(tensor) ? tensor : `${tensor}.weight`;
    this.slices.set(name, { tensor: stored, from, rows, columns, experts, groups });
    if (!bias) return;
    // The bias of a norm is as long as its gain, that of a linear layer as its outputs.
    const length = rows === 1 ? columns : rows;
    this.slices.set(weightNames.bias(name), { tensor: `${tensor}.bias`, from, rows: 1, columns: length });
  }

  private addVector(name: string, tensor: string, columns: number): void {
    this.slices.set(name, { tensor, from: 0, rows: 1, columns });
  }
}

interface PartPlace {
  rows: number;
  columns: number;
  bias?: boolean;
  /** Without `.weight`; default: that of the part. */
  tensor?: string;
  from?: number;
  experts?: number;
  groups?: RowGroups;
}
