import { invalidFile } from '../invalid-file.js';
import type { Architecture } from './architecture.js';
import { type DecoderPurpose, scoreTensor } from './decoder-purpose.js';
import {
  type AttentionShape,
  attendingLayers,
  type DecoderShape,
  type ExpertShape,
  type FeedForwardShape,
  type LatentShape,
  type RotaryShape,
} from './decoder-shape.js';
import type { DecoderSource } from './decoder-source.js';
import { latentScale, readIndexer, readLatent } from './read-latent.js';
import { mostKeyValueHeads, readHeads } from './read-heads.js';
import { countLayers, readMixers } from './read-mixers.js';
import { readMedia } from './read-media.js';
import { readRotary, stretchedContext } from './read-rotary.js';

/** Settings that change results and that no architecture of the table computes with. */
const uncomputed = ['attention.max_alibi_bias', 'attention.clamp_kqv', 'router_logit_softcapping'];
/** The same for those that change nothing where they are 1. */
const uncomputedAboveOne = ['interleave_moe_layer_step'];

export interface ShapeOptions {
  /** Shortens the context of the file, or stretches it where the rotation allows that. */
  contextLength?: number;
  purpose: DecoderPurpose;
}

/** Reads everything but the weights. Fails with `INVALID_MODEL` naming the key of what cannot be computed. */
export function readDecoderShape(
  source: DecoderSource,
  architecture: Architecture,
  { contextLength, purpose }: ShapeOptions,
): DecoderShape {
  const { parameters, tensors } = source;
  const sizes = readSizes(source, architecture, contextLength);
  const { layers, headSize, mixers, latent } = sizes;
  refuseUncomputed(source, architecture, sizes);
  const bidirectional = readDirection(source, architecture, purpose);
  const rotary = readRotary(source, architecture, sizes);
  // Other queries and keys get their pairs in halves where the weights are read.
  if (latent && (source.rotaryPairs ?? architecture.rotaryPairs) === 'adjacent') rotary.interleaved = true;
  const attention = readAttention(source, architecture, { ...sizes, rotary });
  if (purpose !== 'text') refuseTextOnly(source, architecture, { mixers, attention, latent });
  const has = (name: string) => tensors.has(name);
  const attending = `blk.${attendingLayers({ layers, mixers })[0] ?? 0}`;
  const layerNorms = architecture.layerNorms ?? false;
  const epsilon = layerNorms ? 'attention.layer_norm_epsilon' : 'attention.layer_norm_rms_epsilon';
  const feedForward = readFeedForward(source, architecture, layers);
  return {
    layers,
    hiddenSize: sizes.hiddenSize,
    heads: sizes.heads,
    keyValueHeads: sizes.keyValueHeads,
    headSize,
    vocabularySize: tensors.get('token_embd.weight')?.dimensions[1] ?? 0,
    contextLength: sizes.contextLength,
    norm: { kind: layerNorms ? 'layer' : 'rms', epsilon: parameters.number(epsilon), bias: false },
    normPlacement: architecture.normPlacement ?? 'before',
    rotary,
    attention: { ...attention, ...bidirectional, ...(latent && { scale: latentScale(source, latent) }) },
    latent,
    mixers,
    oneHalf: architecture.oneHalf,
    ...(architecture.variedHeads &&
      readHeads(source, { ...sizes, windowed: windowedLayers({ parameters, layers }, architecture) })),
    valueNorm: architecture.valueNorm,
    ...readLayerInputs(source, architecture),
    layerScale: has('blk.0.layer_output_scale.weight') ? true : undefined,
    media: readMedia(source, architecture, rotary),
    feedForward,
    queryKeyNorm: has(`${attending}.attn_q_norm.weight`) ? (architecture.queryKeyNorm ?? 'head') : 'none',
    normsRotated: architecture.normsRotated,
    bias: {
      queryKeyValue: has(`${attending}.attn_q.bias`) || has(`${attending}.attn_qkv.bias`),
      attentionOutput: has(`${attending}.attn_output.bias`),
      feedForward: feedForward.experts === undefined && has('blk.0.ffn_down.bias'),
      head: has('output.bias'),
    },
    parallelResidual: architecture.parallelResidual ?? false,
    tiedHead: !has('output.weight'),
    ...(isHeadless(source, purpose) && { headless: true }),
    scales: readScales(source, architecture, sizes.hiddenSize),
    logitSoftCap: positive(parameters.number('final_logit_softcapping', architecture.softCaps?.logits ?? 0)),
  };
}

function readLayerInputs(
  { parameters, tensors, fileName }: DecoderSource,
  { residualStreams }: Architecture,
): Pick<DecoderShape, 'layerInputs' | 'residualStreams'> {
  if (parameters.number('embedding_length_per_layer_input', 0) === 0) return {};
  const layerInputs = { size: parameters.size('embedding_length_per_layer_input') };
  if (!residualStreams) return { layerInputs };
  const rowsOf = (name: string, fallback: number) => tensors.get(name)?.dimensions[1] ?? fallback;
  const vocabularySize = rowsOf('token_embd.weight', 0);
  const rows = Math.min(vocabularySize, rowsOf('per_layer_token_embd.weight', vocabularySize));
  const count = parameters.size('altup.num_inputs');
  const active = parameters.number('altup.active_idx');
  if (count < 2 || !Number.isSafeInteger(active) || active < 0 || active >= count) {
    throw invalidFile(fileName, `its layers compute stream ${active} of ${count}`);
  }
  return {
    layerInputs: rows < vocabularySize ? { ...layerInputs, rows } : layerInputs,
    residualStreams: { count, active, rank: rowsOf('blk.0.laurel_l.weight', 1) },
  };
}

type Sizes = ReturnType<typeof readSizes>;

function readSizes(source: DecoderSource, architecture: Architecture, chosen?: number) {
  const { parameters, fileName } = source;
  const hiddenSize = parameters.size('embedding_length');
  const layers = countLayers(source);
  const { mixers, keyValueHeads: listedHeads } = readMixers(source, architecture, layers);
  if (architecture.attentionFree) return { layers, hiddenSize, mixers, ...noHeads, ...readContext(source, chosen) };
  const heads = parameters.size('attention.head_count');
  // All heads attend to the same latents.
  const keyValueHeads = architecture.latentAttention
    ? 1
    : (listedHeads ?? mostKeyValueHeads(source, architecture, heads));
  const context = readContext(source, chosen);
  const latent = architecture.latentAttention
    ? { ...readLatent(source), indexer: readIndexer(source, architecture, { layers, ...context }) }
    : undefined;
  const headSize = latent
    ? latent.rank + parameters.size('rope.dimension_count')
    : parameters.size('attention.key_length', hiddenSize / heads);
  const dimensions = parameters.size('rope.dimension_count', headSize);
  if (heads % keyValueHeads !== 0 || headSize % 2 !== 0 || dimensions > headSize || dimensions % 2 !== 0) {
    const sizes = `${heads} heads of ${headSize} with ${keyValueHeads} key-value heads`;
    throw invalidFile(fileName, `${sizes} and ${dimensions} rotated dimensions do not fit`);
  }
  return { layers, hiddenSize, heads, keyValueHeads, headSize, latent, mixers, ...context };
}

/** Least sizes of heads that compute nothing. */
const noHeads = { heads: 1, keyValueHeads: 1, headSize: 2, latent: undefined };

function readContext(source: DecoderSource, chosen?: number) {
  const modelContext = source.parameters.size('context_length');
  return { modelContext, contextLength: Math.min(chosen ?? modelContext, stretchedContext(source) ?? modelContext) };
}

function refuseUncomputed(
  { parameters, fileName, architecture }: DecoderSource,
  { storedRouters }: Architecture,
  { headSize, latent }: Pick<Sizes, 'headSize' | 'latent'>,
): void {
  const refuse = (key: string, value: unknown) => {
    throw invalidFile(fileName, `its \`${architecture}.${key}\` is ${String(value)}, which is not computed here`);
  };
  for (const key of uncomputed) {
    const value = parameters.number(key, 0);
    if (value !== 0) refuse(key, value);
  }
  for (const key of storedRouters ? [] : uncomputedAboveOne) {
    const value = parameters.number(key, 1);
    if (value > 1) refuse(key, value);
  }
  const valueLength = parameters.size('attention.value_length', headSize);
  if (!latent && valueLength !== headSize)
    refuse('attention.value_length', `${valueLength} beside keys of ${headSize}`);
}

/** A file of a reranker may hold the score as a layer of its own. */
function isHeadless({ tensors }: DecoderSource, purpose: DecoderPurpose): boolean {
  return purpose === 'embedding' || (purpose === 'rerank' && tensors.has(scoreTensor));
}

/** Text is written forwards. Only a model that reads may look at later tokens. */
function readDirection(
  { parameters, fileName, architecture: name }: DecoderSource,
  architecture: Architecture,
  purpose: DecoderPurpose,
): Pick<AttentionShape, 'bidirectional'> {
  const isCausal = parameters.flag('attention.causal', architecture.bidirectional !== true);
  if (isCausal) return {};
  if (purpose !== 'text') return { bidirectional: true };
  throw invalidFile(fileName, `its \`${name}.attention.causal\` is false, which is not computed here`);
}

/** Layers whose output is computed while text is written, and not of whole texts at once. */
function refuseTextOnly(
  { fileName, architecture }: DecoderSource,
  { variedHeads }: Architecture,
  { mixers, attention, latent }: { mixers: unknown; attention: AttentionShape; latent: LatentShape | undefined },
): void {
  const reasons = [
    attention.sinks && 'attend to sinks',
    variedHeads && 'share keys and values',
    latent?.indexer && 'attend to chosen positions',
    mixers !== undefined && 'keep a state',
  ];
  const reason = reasons.find((each) => typeof each === 'string');
  if (reason === undefined) return;
  throw invalidFile(
    fileName,
    `its architecture is ${architecture}, whose layers ${reason}; it can only write text here`,
  );
}

function readAttention(
  { parameters }: DecoderSource,
  architecture: Architecture,
  { rotary, ...sizes }: Sizes & { rotary: RotaryShape },
): AttentionShape {
  const { layers, contextLength } = sizes;
  const stated = parameters.number('attention.sliding_window', architecture.windowSize ?? 0);
  // The window of an encoder is as wide on both sides together.
  const size = architecture.bidirectional && stated > 0 ? Math.floor(stated / 2) + 1 : stated;
  const windowed = windowedLayers({ parameters, layers }, architecture);
  // A window as long as the context hides nothing, but its layers may rotate in their own way.
  const counts =
    size > 0 && windowed.includes(true) && (size < contextLength || architecture.windowRotary !== undefined);
  const chunked = architecture.chunkedWindow && { chunked: true as const };
  const window = counts ? { size, layers: windowed, rotary: windowRotary(), ...chunked } : undefined;
  return {
    scale: parameters.has('attention.scale')
      ? positive(parameters.number('attention.scale'))
      : architecture.attentionScale?.(sizes),
    softCap: positive(parameters.number('attn_logit_softcapping', architecture.softCaps?.attention ?? 0)),
    sinks: architecture.sinks,
    outputGate: architecture.outputGate,
    temperature: readTemperature(),
    rotatedNorm: readRotatedNorm(),
    window,
    unrotated: unrotatedLayers(),
  };

  function readTemperature(): AttentionShape['temperature'] {
    const { temperature: usual } = architecture;
    const scale = parameters.number('attention.temperature_scale', usual?.scale ?? 0);
    if (scale <= 0) return undefined;
    const original = usual?.length ?? parameters.number('rope.scaling.original_context_length', 0);
    const length = parameters.size('attention.temperature_length', original);
    return { scale, length, ...(usual && { offset: usual.offset, unrotatedOnly: true }) };
  }

  /** The largest model of the family has no such norm, and its GGUF file does not say so. */
  function readRotatedNorm(): true | undefined {
    const usual = architecture.rotatedNorm === true && parameters.number('expert_count', 0) !== 128;
    return parameters.flag('attention.rotated_norm', usual) ? true : undefined;
  }

  function windowRotary(): RotaryShape {
    if (architecture.windowRotary === undefined) return rotary;
    const base = parameters.number('rope.freq_base_swa', architecture.windowRotary.base ?? rotary.base);
    return { base, dimensions: parameters.size('rope.dimension_count_swa', rotary.dimensions) };
  }

  function unrotatedLayers(): boolean[] | undefined {
    const listed = parameters.optionalFlags('rope.unrotated_layers');
    if (listed) return listed;
    const { unrotated } = architecture;
    if (architecture.rotatesIfFinetuned && !parameters.flag('rope.scaling.finetuned', true)) {
      return Array.from({ length: layers }, () => true);
    }
    if (unrotated === undefined || (unrotated === 'beside-windows' && size === 0)) return undefined;
    if (unrotated === 'all') return windowed.map(() => true);
    return windowed.map((hasWindow, layer) =>
      typeof unrotated === 'object' ? (layer + 1) % unrotated.every === 0 : !hasWindow,
    );
  }
}

/** A flag per layer: whether it has the file's window. */
function windowedLayers(
  { parameters, layers }: Pick<DecoderSource, 'parameters'> & { layers: number },
  architecture: Architecture,
): boolean[] {
  const key = 'attention.sliding_window_pattern';
  const listed = parameters.optionalFlags(key);
  if (listed?.length === layers) return listed;
  const usual = architecture.wholeContextEvery ?? 0;
  const every = listed ? usual : parameters.number(key, usual);
  return Array.from({ length: layers }, (_, layer) => every === 0 || (layer + 1) % every !== 0);
}

function readScales(
  { parameters }: DecoderSource,
  architecture: Architecture,
  hiddenSize: number,
): DecoderShape['scales'] {
  const logits = positive(parameters.number('logit_scale', 0));
  return {
    embedding: positive(parameters.number('embedding_scale', architecture.scaledEmbedding ? Math.sqrt(hiddenSize) : 0)),
    residual: positive(parameters.number('residual_scale', 0)),
    logits: logits !== undefined && architecture.dividesLogits ? 1 / logits : logits,
  };
}

function readFeedForward(source: DecoderSource, architecture: Architecture, layers: number): FeedForwardShape {
  const { parameters } = source;
  const activation = parameters.text('hidden_activation', architecture.activation ?? 'silu');
  const kind = architecture.plainActivation ?? (`gated-${activation}` as FeedForwardShape['kind']);
  if (!['gated-silu', 'gated-gelu', 'gated-gelu-tanh', architecture.plainActivation].includes(kind)) {
    throw invalidFile(source.fileName, `its activation is ${activation}; silu, gelu and gelu-tanh are computed`);
  }
  const dense = denseLayers(source, architecture, layers);
  const first = dense.indexOf(false);
  const experts = first < 0 ? undefined : readExperts(source, architecture, first);
  const size = experts && parameters.has('expert_feed_forward_length') ? 'expert_feed_forward_length' : null;
  if (experts?.beside) return { kind, size: parameters.size('expert_feed_forward_length'), experts };
  const listed = architecture.oneHalf ? null : parameters.listedNumbers('feed_forward_length');
  const thresholds = readThresholds(source, layers);
  if (listed) return { kind, ...listedSizes(source, listed, layers), ...thresholds };
  const plainSize = () =>
    architecture.oneHalf ? plainLayerSize(source, layers) : parameters.size('feed_forward_length');
  return {
    kind,
    size: size === null ? plainSize() : parameters.size(size),
    experts,
    dense: experts && dense.includes(true) ? { layers: dense, size: plainSize() } : undefined,
    ...thresholds,
  };
}

/** Files have minus infinity for layers whose gates count as they are. */
function readThresholds({ parameters, fileName }: DecoderSource, layers: number): Pick<FeedForwardShape, 'thresholds'> {
  const listed = parameters.listedNumbers('activation_sparsity_scale');
  if (listed === null) return {};
  if (listed.length === layers) {
    return { thresholds: listed.map((deviations) => (Number.isFinite(deviations) ? deviations : null)) };
  }
  throw invalidFile(fileName, `it has thresholds for the gates of ${listed.length} layers, not ${layers}`);
}

/** Sizes per layer, of which there may be two. */
function listedSizes(
  { fileName, architecture }: DecoderSource,
  sizes: number[],
  layers: number,
): Pick<FeedForwardShape, 'size' | 'dense'> {
  const [size = 0, other, ...more] = new Set(sizes);
  const areSizes = [size, other ?? 1].every((each) => Number.isSafeInteger(each) && each >= 1);
  if (sizes.length !== layers || more.length > 0 || !areSizes) {
    const listed = `its \`${architecture}.feed_forward_length\` lists ${[...new Set(sizes)].join(', ').slice(0, 80)}`;
    throw invalidFile(fileName, `${listed} for ${layers} layers; one or two sizes are read`);
  }
  return other === undefined ? { size } : { size, dense: { layers: sizes.map((each) => each === other), size: other } };
}

/** A flag per layer: whether it has no experts, in a model that has them. */
function denseLayers({ parameters, tensors }: DecoderSource, architecture: Architecture, layers: number): boolean[] {
  const leading = parameters.number('leading_dense_block_count', 0);
  return Array.from({ length: layers }, (_, layer) =>
    architecture.storedRouters ? !tensors.has(`blk.${layer}.ffn_gate_inp.weight`) : layer < leading,
  );
}

/** Size of the feed-forward of the first layer that is one; files list it per layer. 1 if all have experts. */
function plainLayerSize({ tensors }: DecoderSource, layers: number): number {
  const sizes = Array.from({ length: layers }, (_, layer) => tensors.get(`blk.${layer}.ffn_up.weight`)?.dimensions[1]);
  return sizes.find((size) => size !== undefined) ?? 1;
}

/** `expert_gating_func` of GGUF. */
const sigmoidGating = 2;

function readExperts(source: DecoderSource, architecture: Architecture, dense: number): ExpertShape | undefined {
  const { parameters, tensors, fileName } = source;
  const count = parameters.number('expert_count', 0);
  if (count === 0 && architecture.experts !== 'required') return undefined;
  if (architecture.experts === undefined) {
    throw invalidFile(fileName, `it has ${count} experts, which its architecture ${source.architecture} has not here`);
  }
  const used = parameters.size('expert_used_count');
  if (count < used) throw invalidFile(fileName, `each token uses ${used} of ${count} experts`);
  const gating = parameters.number('expert_gating_func', architecture.sigmoidRouter ? sigmoidGating : 0);
  const scale = positive(parameters.number('expert_weights_scale', 1));
  const selectionBias =
    architecture.selectionBias === 'stored'
      ? tensors.has(`blk.${dense}.exp_probs_b.bias`)
      : (architecture.selectionBias ?? false);
  return {
    count,
    used,
    scoring: gating === sigmoidGating ? 'sigmoid' : 'softmax',
    selectionBias,
    weighsInputs: architecture.weighsInputs,
    latentSize: tensors.get(`blk.${dense}.ffn_latent_down.weight`)?.dimensions[1],
    normalized: parameters.flag('expert_weights_norm', architecture.plainExpertWeights !== true),
    scale: scale === 1 ? undefined : scale,
    groups: readGroups(source, { count, used, selectionBias }),
    bias: tensors.has(`blk.${dense}.ffn_gate_inp.bias`),
    clamp: architecture.expertClamp,
    shared: readSharedExpert(source, architecture, dense),
    ...(architecture.expertsBeside && { beside: { size: parameters.size('feed_forward_length') } }),
  };
}

/** Groups of experts that a token may be limited to; undefined if it may use all. */
function readGroups(
  { parameters, fileName }: DecoderSource,
  { count, used, selectionBias }: Pick<ExpertShape, 'count' | 'used' | 'selectionBias'>,
): ExpertShape['groups'] {
  const groups = parameters.number('expert_group_count', 1);
  // Files of models without groups write 0 or 1.
  if (groups <= 1) return undefined;
  const usedGroups = parameters.size('expert_group_used_count');
  if (usedGroups === groups) return undefined;
  const size = count / groups;
  // A bias for the choice came with scores of groups by their best two experts.
  const score = selectionBias ? 'best-two' : 'best';
  const smallest = selectionBias ? 2 : 1;
  if (Number.isInteger(size) && size >= smallest && usedGroups < groups && used <= usedGroups * size) {
    return { count: groups, used: usedGroups, score };
  }
  throw invalidFile(
    fileName,
    `${used} of its ${count} experts come from ${usedGroups} of ${groups} groups, which do not fit`,
  );
}

function readSharedExpert(
  { parameters, tensors }: DecoderSource,
  { sharedExpert }: Architecture,
  dense: number,
): ExpertShape['shared'] {
  if (sharedExpert === undefined) return undefined;
  const stored = tensors.get(`blk.${dense}.ffn_up_shexp.weight`)?.dimensions[1];
  return {
    size: parameters.size('expert_shared_feed_forward_length', stored),
    weighted: sharedExpert === 'weighted',
  };
}

/** GGUF writes 0 for what a model has not. */
function positive(value: number): number | undefined {
  return value > 0 ? value : undefined;
}
