import { PlatformError } from '#common';
import type { GraphSession, TensorDescription } from './graph-session.js';

/** Model sizes that the graph may leave open; members of config.json under our names. */
export interface DecoderHints {
  kvHeads?: number;
  headDim?: number;
  vocabularySize?: number;
  /** The graph takes embeddings instead of token ids. */
  takesEmbeddings?: boolean;
}

/** Cache tensor names of one layer's keys or values: the input, and for `concat` the output that replaces it. */
export interface CacheNames {
  past: string;
  present: string | null;
  /** Tokens that the layer sees, the newest included; absent: the whole context. */
  window?: number;
  /** Keys of an indexer, by which the layer chooses the positions that it attends to. */
  isIndex?: true;
}

/** Caches of one kind have the same sizes. */
export type CacheKind = 'whole' | 'windowed' | 'index';

/** Numbers of heads and of their values in layers of one kind. */
export interface CacheSizes {
  heads: number;
  dimension: number;
}

/** A tensor of the state of a layer that does not attend: the input, and the output that replaces it. */
export interface StateNames {
  past: string;
  present: string;
  /** Shape of the state of one row. */
  dimensions: number[];
}

export type IntegerType = 'int64' | 'int32';

interface DecoderGraphBase {
  /**
   * Keys and values of all layers: layer 0 key, layer 0 value, layer 1 key, … Of a layer with latents it is one, and the
   * keys of its indexer. Empty if all layers of a split graph keep states.
   */
  caches: CacheNames[];
  cacheType: 'float32' | 'float16' | 'int8';
  kvHeads: number;
  headDim: number;
  vocabularySize: number;
}

/**
 * Our own graph: past keys and values are plain inputs, and only new positions are returned. Layers with a window take
 * their past from the position in `window_starts` on.
 */
export interface SplitGraph extends DecoderGraphBase {
  kind: 'split';
  /**
   * Sizes of the layers that see the whole context, of those with a window, and of indexers. New positions have those of
   * the graph.
   */
  sizes: Record<CacheKind, CacheSizes>;
  /** Number of top logits selected by the graph; 0 without this output. */
  topSize: number;
  hasLogSumExp: boolean;
  /** Returns the logits of tokens by their ids. */
  givesWanted: boolean;
  /** Takes the adapter of each row. */
  takesAdapters: boolean;
  /** Returns the logits of places that a run names, any number per row; otherwise of one per row. */
  picksLogits: boolean;
  /** States of layers that do not attend; empty if every layer does. */
  states: StateNames[];
  /** Values of a position of an image; null: the graph takes tokens only. */
  mediaWidth: number | null;
  /** Takes the positions of tokens in time, height and width. */
  takesPositions: boolean;
  /** Positions of an image see each other, so they must be computed in one run. */
  seesWholeImages: boolean;
}

/**
 * The transformers.js layout: the whole cache is an input and a longer one is returned. Exports with
 * GroupQueryAttention have the same interface.
 */
export interface ConcatGraph extends DecoderGraphBase {
  kind: 'concat';
  logitsType: 'float32' | 'float16';
  inputIds: IntegerType;
  attentionMask: IntegerType | null;
  positionIds: IntegerType | null;
  /** Whether every position has three numbers: time, height, width. */
  hasMultimodalPositions: boolean;
  /** Input of merged exports that selects one of their two branches. */
  useCacheBranch: boolean;
  /** Name and rank of the input that limits logits to the last positions. */
  logitsToKeep: { name: string; rank: number } | null;
}

/** The split graph for a device: keys and values are written in place, where past and present are the same tensor. */
export interface DeviceGraph extends DecoderGraphBase, Pick<SplitGraph, SplitOutputs> {
  kind: 'device';
  /** Takes the position of each token. */
  takesPositions: boolean;
}

type SplitOutputs = 'topSize' | 'hasLogSumExp' | 'givesWanted' | 'takesAdapters';

export type DecoderGraph = SplitGraph | ConcatGraph | DeviceGraph;

const splitInputs = [
  'input_ids',
  'past_lens',
  'last_index',
  'logit_places',
  'wanted_ids',
  'window_starts',
  'adapter_ids',
];
const deviceInputs = [
  'input_ids',
  'last_index',
  'wanted_ids',
  'adapter_ids',
  'seqlens_k',
  'total_length',
  'position_ids',
];
const mediaInputs = ['media', 'media_places', 'media_groups', 'rotary_positions'];

const statePattern = /^past_states\.(\d+\.\w+)$/;

/** Name of the dimension of positions in the past of a layer with a window. */
const windowPattern = /^window_(\d+)$/;

const pastPattern = /^(?:past_key_values|past)\.(\d+)\.(key|value|latent|index)$/;

/** Caches of a layer, in their order. */
const layerCaches = [['key', 'value'], ['latent'], ['latent', 'index']];

/**
 * Determines from names, types and shapes how a decoder keeps its cache. Throws `INVALID_MODEL` naming what does not
 * fit, so an unsuitable model fails at load and not at its first request.
 */
export function inspectDecoderGraph(session: GraphSession, hints: DecoderHints = {}): DecoderGraph {
  const inputs = byName(session.inputs);
  const outputs = byName(session.outputs);
  const input = hints.takesEmbeddings === true ? 'inputs_embeds' : 'input_ids';
  if (!inputs.has(input)) throw unfit(`it has no input \`${input}\``);
  const pasts = pastInputs(session.inputs);
  const firstPast = pasts[0];
  const hasStates = session.inputs.some(({ name }) => statePattern.test(name));
  if (!firstPast && !hasStates) {
    throw unfit('it has no inputs `past_key_values.N.key` and `.value`; it was exported without a cache');
  }
  const base = firstPast ? describeCache(firstPast, hints) : noCache;
  const isSplit = outputs.has('new_kv') === (firstPast !== undefined) && inputs.has('past_lens');
  const shape = { ...base, vocabularySize: vocabularyOf(outputs, hints) };
  if (inputs.has('seqlens_k') && inputs.has('total_length')) return deviceGraph(pasts, shape, inputs, outputs);
  return isSplit ? splitGraph(pasts, shape, inputs, outputs) : concatGraph(pasts, shape, inputs, outputs);
}

/** Returns the type of the numbers in the caches of a decoder; undefined for one that keeps states only. */
export function cacheTypeOf({ inputs }: GraphSession): string | undefined {
  return pastInputs(inputs)[0]?.type;
}

/** The sizes of a model whose layers all keep states. */
const noCache = { cacheType: 'float32', kvHeads: 0, headDim: 0 } as const;

type Descriptions = Map<string, TensorDescription>;
type BaseShape = Omit<DecoderGraphBase, 'caches'>;

function splitGraph(
  pasts: TensorDescription[],
  base: BaseShape,
  inputs: Descriptions,
  outputs: Descriptions,
): SplitGraph {
  const takesStarts = inputs.has('window_starts');
  const known = new Set([...splitInputs, ...mediaInputs]);
  const states = stateInputs(inputs, outputs);
  for (const { past } of states) known.add(past);
  refuseUnknownInputs(inputs, known);
  const picksLogits = inputs.has('logit_places');
  if (!picksLogits && !inputs.has('last_index')) throw unfit('its split cache comes without the input `last_index`');
  if (base.cacheType !== 'float32') throw unfit('its split cache is not float32');
  const caches = pasts.map((past): CacheNames => {
    const isIndex = past.name.endsWith('.index') && { isIndex: true as const };
    return { past: past.name, present: null, ...(takesStarts && windowOf(past)), ...isIndex };
  });
  const sizesOfKind = (kind: CacheKind): CacheSizes => {
    const ofKind = pasts.filter((_, index) => cacheKind(caches[index]) === kind);
    return sizesOf(ofKind, base);
  };
  return {
    ...base,
    kind: 'split',
    ...freshSizes(outputs.get('new_kv'), base),
    sizes: { whole: sizesOfKind('whole'), windowed: sizesOfKind('windowed'), index: sizesOfKind('index') },
    caches,
    ...splitOutputs(inputs, outputs),
    picksLogits,
    states,
    mediaWidth: mediaWidthOf(inputs),
    takesPositions: inputs.has('rotary_positions'),
    seesWholeImages: inputs.has('media_groups'),
  };
}

export function cacheKind(cache: CacheNames | undefined): CacheKind {
  if (cache?.isIndex) return 'index';
  return cache?.window === undefined ? 'whole' : 'windowed';
}

/** Sizes of new positions. */
function freshSizes(fresh: TensorDescription | undefined, base: BaseShape): Pick<BaseShape, 'kvHeads' | 'headDim'> {
  if (fresh === undefined) return { kvHeads: 0, headDim: 0 };
  const [, , heads, , dimension] = fresh.shape;
  return {
    kvHeads: fixedSize(heads, base.kvHeads, 'num_key_value_heads'),
    headDim: fixedSize(dimension, base.headDim, 'head_dim'),
  };
}

function splitOutputs(inputs: Descriptions, outputs: Descriptions): Pick<SplitGraph, SplitOutputs> {
  const topShape = outputs.get('topk_values')?.shape;
  const topSize = outputs.has('topk_ids') ? Number(topShape?.[topShape.length - 1] ?? 0) : 0;
  return {
    topSize: Number.isInteger(topSize) ? topSize : 0,
    hasLogSumExp: outputs.has('lse'),
    givesWanted: inputs.has('wanted_ids') && outputs.has('wanted_logits'),
    takesAdapters: inputs.has('adapter_ids'),
  };
}

function deviceGraph(
  pasts: TensorDescription[],
  base: BaseShape,
  inputs: Descriptions,
  outputs: Descriptions,
): DeviceGraph {
  refuseUnknownInputs(inputs, new Set(deviceInputs));
  const takesPositions = inputs.has('position_ids');
  const caches = presentsOf(pasts, outputs);
  return { ...base, kind: 'device', caches, takesPositions, ...splitOutputs(inputs, outputs) };
}

/** Images come in beside the tokens, so that text needs no other graph. */
function mediaWidthOf(inputs: Descriptions): number | null {
  const media = inputs.get('media');
  if (media === undefined) return null;
  for (const name of mediaInputs.slice(0, 2)) if (!inputs.has(name)) throw unfit(`it has no input \`${name}\``);
  return fixedSize(media.shape[1], undefined, 'hidden_size');
}

function concatGraph(
  pasts: TensorDescription[],
  base: BaseShape,
  inputs: Descriptions,
  outputs: Descriptions,
): ConcatGraph {
  const keep = inputs.get('num_logits_to_keep') ?? inputs.get('logits_to_keep');
  const tokens = inputs.has('inputs_embeds') ? 'inputs_embeds' : 'input_ids';
  const known = new Set([tokens, 'attention_mask', 'position_ids', 'use_cache_branch', keep?.name ?? '']);
  refuseUnknownInputs(inputs, known);
  return {
    ...base,
    kind: 'concat',
    caches: presentsOf(pasts, outputs),
    logitsType: floatType(outputs.get('logits')),
    inputIds: integerType(inputs.get('input_ids')) ?? 'int64',
    attentionMask: integerType(inputs.get('attention_mask')),
    positionIds: integerType(inputs.get('position_ids')),
    hasMultimodalPositions: inputs.get('position_ids')?.shape.length === 3,
    useCacheBranch: inputs.has('use_cache_branch'),
    logitsToKeep: keep ? { name: keep.name, rank: keep.shape.length } : null,
  };
}

function presentsOf(pasts: TensorDescription[], outputs: Descriptions): CacheNames[] {
  return pasts.map(({ name }) => {
    const present = name.replace(/^past(?:_key_values)?\./, 'present.');
    if (!outputs.has(present)) throw unfit(`it has no output \`${present}\` for its input \`${name}\``);
    return { past: name, present };
  });
}

function pastInputs(inputs: readonly TensorDescription[]): TensorDescription[] {
  const layers = new Map<number, Map<string, TensorDescription>>();
  for (const input of inputs) {
    const [, layer, part] = pastPattern.exec(input.name) ?? [];
    if (part === undefined) continue;
    layers.set(Number(layer), (layers.get(Number(layer)) ?? new Map()).set(part, input));
  }
  const ordered = [...layers].toSorted(([left], [right]) => left - right);
  return ordered.flatMap(([layer, caches], index) => {
    const parts = layerCaches.find((names) => names.length === caches.size && names.every((name) => caches.has(name)));
    const [first] = caches.values();
    if (layer !== index || parts === undefined) {
      throw unfit(`the cache inputs before \`${first?.name}\` are not complete`);
    }
    return parts.flatMap((part) => caches.get(part) ?? []);
  });
}

function stateInputs(inputs: Descriptions, outputs: Descriptions): StateNames[] {
  return [...inputs.values()].flatMap(({ name, type, shape: [, ...dimensions] }) => {
    const [, place] = statePattern.exec(name) ?? [];
    if (place === undefined) return [];
    const present = `new_states.${place}`;
    if (!outputs.has(present)) throw unfit(`it has no output \`${present}\` for its input \`${name}\``);
    if (type !== 'float32') throw unfit(`its state \`${name}\` is not float32`);
    const sizes = dimensions.map((size) => fixedSize(size, undefined, name));
    return [{ past: name, present, dimensions: sizes }];
  });
}

/** Layers of one kind have the same sizes. */
function sizesOf(pasts: readonly TensorDescription[], hints: DecoderHints): CacheSizes {
  const [first, ...others] = pasts.map((past) => {
    const { kvHeads: heads, headDim: dimension } = describeCache(past, hints);
    return { heads, dimension };
  });
  if (first === undefined) return { heads: 0, dimension: 0 };
  if (others.every(({ heads, dimension }) => heads === first.heads && dimension === first.dimension)) return first;
  throw unfit('its caches have several sizes in layers of one kind');
}

function describeCache(past: TensorDescription, hints: DecoderHints): Omit<BaseShape, 'vocabularySize'> {
  const [, heads, , dimension] = past.shape;
  return {
    cacheType: past.type === 'int8' ? 'int8' : floatType(past),
    kvHeads: fixedSize(heads, hints.kvHeads, 'num_key_value_heads'),
    headDim: fixedSize(dimension, hints.headDim, 'head_dim'),
  };
}

function windowOf({ shape: [, , positions] }: TensorDescription): { window?: number } {
  const size = windowPattern.exec(String(positions))?.[1];
  return size === undefined ? {} : { window: Number(size) };
}

function vocabularyOf(outputs: Descriptions, hints: DecoderHints): number {
  const logits = outputs.get('logits');
  if (!logits) throw unfit('it has no output `logits`');
  return fixedSize(logits.shape[logits.shape.length - 1], hints.vocabularySize, 'vocab_size');
}

function fixedSize(dimension: number | string | undefined, hint: number | undefined, member: string): number {
  const size = typeof dimension === 'number' && dimension > 0 ? dimension : hint;
  if (!size || !Number.isInteger(size)) throw unfit(`neither its graph nor config.json (\`${member}\`) gives a size`);
  return size;
}

function refuseUnknownInputs(inputs: Descriptions, known: ReadonlySet<string>): void {
  for (const name of inputs.keys()) {
    if (!known.has(name) && !pastPattern.test(name)) throw unfit(`it needs the input \`${name}\`, which is not known`);
  }
}

function floatType(description: TensorDescription | undefined): 'float32' | 'float16' {
  const type = description?.type;
  if (type === 'float32' || type === 'float16') return type;
  throw unfit(`\`${description?.name ?? 'logits'}\` is ${type ?? 'missing'}, not float32 or float16`);
}

function integerType(description: TensorDescription | undefined): IntegerType | null {
  if (!description) return null;
  const type = description.type;
  if (type === 'int64' || type === 'int32') return type;
  throw unfit(`\`${description.name}\` is ${type}, not int64 or int32`);
}

function byName(descriptions: readonly TensorDescription[]): Descriptions {
  return new Map(descriptions.map((description) => [description.name, description]));
}

function unfit(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model's graph is not a decoder that this engine supports: ${reason}.`);
}
