import type { ModelFiles } from '../safetensors/model-files.js';
import type { ClassifierHead } from './classifier-head.js';
import { checkOneScore, checkSizes, type EncoderTensors, findPrefix } from './bert-files.js';
import type { EncoderSettings } from './encoder-config.js';
import { type EncoderExperts, expertTensors } from './encoder-experts.js';
import type { RotaryNames, RotaryShape, RotaryWeights } from './rotary-encoder.js';
import { SafetensorsFile } from './safetensors-file.js';

const gteNames: RotaryNames = {
  words: 'embeddings.word_embeddings',
  embeddingNorm: 'embeddings.LayerNorm',
  layer: (layer) => `encoder.layer.${layer}.`,
  projections: 'attention.qkv_proj',
  output: 'attention.o_proj',
  attentionNorm: 'attn_ln',
  activated: { name: 'mlp.up_gate_proj', part: 1 },
  multiplied: { name: 'mlp.up_gate_proj', part: 0 },
  down: 'mlp.down_proj',
  feedForwardNorm: 'mlp_ln',
  finalNorm: null,
};

const nomicNames: RotaryNames = {
  words: 'embeddings.word_embeddings',
  embeddingNorm: 'emb_ln',
  layer: (layer) => `encoder.layers.${layer}.`,
  projections: 'attn.Wqkv',
  output: 'attn.out_proj',
  attentionNorm: 'norm1',
  activated: { name: 'mlp.fc12' },
  multiplied: { name: 'mlp.fc11' },
  down: 'mlp.fc2',
  feedForwardNorm: 'norm2',
  finalNorm: null,
};

/** The feed-forward of Nomic v2 has no gate. */
const plainNomicNames: RotaryNames = { ...nomicNames, activated: { name: 'mlp.fc1' }, multiplied: null };

const modernNames: RotaryNames = {
  words: 'embeddings.tok_embeddings',
  embeddingNorm: 'embeddings.norm',
  layer: (layer) => `layers.${layer}.`,
  projections: 'attn.Wqkv',
  output: 'attn.Wo',
  attentionNorm: 'attn_norm',
  activated: { name: 'mlp.Wi', part: 0 },
  multiplied: { name: 'mlp.Wi', part: 1 },
  down: 'mlp.Wo',
  feedForwardNorm: 'mlp_norm',
  finalNorm: 'final_norm',
};

const jinaNames: RotaryNames = {
  ...plainNomicNames,
  projections: 'mixer.Wqkv',
  output: 'mixer.out_proj',
};

type Variant = Pick<RotaryShape, 'typeTable' | 'normsFirst' | 'bases' | 'windows' | 'activation' | 'epsilon'> &
  Partial<Pick<RotaryShape, 'frequencyDivisor' | 'experts' | 'names'>>;

/** How one kind of these models differs from the others. */
interface RotaryKind {
  /** Of an encoder inside a larger model, by the names of its class. */
  prefixes: string[];
  names: RotaryNames;
  variant: (settings: EncoderSettings, layers: number) => Variant;
  head: (
    settings: EncoderSettings,
    prefix: string,
  ) => Omit<ClassifierHead, 'hasBias' | 'hasOutputBias' | 'norm'> & {
    norm: string | null;
  };
}

const typeTable = 'embeddings.token_type_embeddings';
const repeated = <Value>(value: Value, count: number): Value[] => Array.from({ length: count }, () => value);

const poolerHead: RotaryKind['head'] = (_settings, prefix) => ({
  pooling: 'cls',
  dense: `${prefix}pooler.dense`,
  activation: 'tanh',
  norm: null,
  output: 'classifier',
});

const gte: RotaryKind = {
  prefixes: ['new.', 'gte.'],
  names: gteNames,
  variant: (settings, layers) => {
    if (settings.config['logn_attention_scale'] === true) throw settings.refuse('its attention grows with the text');
    const factor = ntkFactor(settings);
    const headSize = settings.size('hiddenSize', 'hidden_size') / settings.size('heads', 'num_attention_heads');
    return {
      typeTable: settings.number(0, 'type_vocab_size') > 0 ? typeTable : null,
      normsFirst: false,
      bases: repeated(factor * ropeBase(settings, 160_000, 'rope_theta'), layers),
      frequencyDivisor: factor ** (2 / headSize),
      windows: repeated(null, layers),
      activation: settings.activation(['gelu', 'gelu-tanh', 'silu'], 'hidden_act'),
      epsilon: settings.number(1e-12, 'layer_norm_eps'),
    };
  },
  head: poolerHead,
};

/** Values of `activation_function` for a feed-forward with a gate. */
const gatedActivations: readonly string[] = ['swiglu', 'geglu', 'glu'];

/** Reads the experts of Nomic v2. Throws `INVALID_MODEL` for experts that are computed otherwise. */
function nomicExperts(
  settings: EncoderSettings,
  { layers, isGated }: { layers: number; isGated: boolean },
): { experts?: EncoderExperts } {
  const { config } = settings;
  if (settings.number(0, 'num_experts') === 0) return {};
  const isSet = (name: string): boolean => ![undefined, null, false, 0].includes(config[name] as never);
  const others = ['moe_normalize_expert_weights', 'num_shared_experts', 'expert_choice_router'].filter(isSet);
  if (others.length > 0) throw settings.refuse(`its experts have ${others.join(', ')}`);
  if (isGated) throw settings.refuse('its experts have gates');
  const [count, used] = [settings.size('num_experts', 'num_experts'), settings.size('moe_top_k', 'moe_top_k')];
  const every = settings.size('moe_every_n_layers', 'moe_every_n_layers');
  if (used > count || count > maxExperts) throw settings.refuse(`it uses ${used} of ${count} experts`);
  return { experts: { count, used, layers: Array.from({ length: layers }, (_, layer) => layer % every === 1) } };
}

const nomic: RotaryKind = {
  prefixes: ['nomic_bert.', 'bert.'],
  names: nomicNames,
  variant: (settings, layers) => {
    if (settings.config['prenorm'] === true) throw settings.refuse('its norms come before its layers (prenorm)');
    if (settings.config['rotary_emb_interleaved'] === true) throw settings.refuse('its rotary positions interleave');
    if (settings.number(1, 'rotary_emb_fraction') !== 1) throw settings.refuse('its rotary positions are partial');
    const { activation_function: activation } = settings.config;
    const isGated = activation === undefined || gatedActivations.includes(String(activation));
    return {
      ...(!isGated && { names: plainNomicNames }),
      ...nomicExperts(settings, { layers, isGated }),
      typeTable: settings.number(0, 'type_vocab_size') > 0 ? typeTable : null,
      normsFirst: false,
      bases: repeated(ropeBase(settings, 1_000, 'rotary_emb_base'), layers),
      windows: repeated(null, layers),
      activation: settings.activation(['silu', 'gelu'], 'activation_function', 'hidden_act'),
      epsilon: settings.number(1e-12, 'layer_norm_epsilon', 'layer_norm_eps'),
    };
  },
  head: poolerHead,
};

const modern: RotaryKind = {
  prefixes: ['model.'],
  names: modernNames,
  variant: (settings, layers) => {
    const types = localLayers(settings, layers);
    const global = ropeBase(settings, 160_000, 'global_rope_theta', 'full_attention');
    const local = ropeBase(settings, global, 'local_rope_theta', 'sliding_attention');
    const width = Math.floor(settings.number(128, 'local_attention') / 2);
    return {
      typeTable: null,
      normsFirst: true,
      bases: types.map((isLocal) => (isLocal ? local : global)),
      windows: types.map((isLocal) => (isLocal ? width : null)),
      activation: settings.activation(['gelu', 'gelu-tanh', 'silu'], 'hidden_activation'),
      epsilon: settings.number(1e-5, 'norm_eps'),
    };
  },
  head: (settings) => ({
    pooling: settings.config['classifier_pooling'] === 'mean' ? 'mean' : 'cls',
    dense: 'head.dense',
    activation: settings.activation(['gelu', 'gelu-tanh', 'silu'], 'classifier_activation'),
    norm: 'head.norm',
    output: 'classifier',
  }),
};

/** Jina v3. The adapters of its tasks are in files of their own, which are not read. */
const jina: RotaryKind = {
  prefixes: ['roberta.'],
  names: jinaNames,
  variant: (settings, layers) => ({
    typeTable: settings.number(1, 'type_vocab_size') > 0 ? typeTable : null,
    normsFirst: false,
    bases: repeated(ropeBase(settings, 20_000, 'rope_theta'), layers),
    windows: repeated(null, layers),
    activation: settings.activation(['gelu', 'gelu-tanh', 'silu'], 'hidden_act'),
    epsilon: settings.number(1e-5, 'layer_norm_eps'),
  }),
  head: () => ({
    pooling: 'cls',
    dense: 'classifier.dense',
    activation: 'tanh',
    norm: null,
    output: 'classifier.out_proj',
  }),
};

const kinds: Record<string, RotaryKind> = {
  gte,
  new: gte,
  nomic_bert: nomic,
  modernbert: modern,
  jina_embeddings_v3: jina,
};

/** Model types with rotary positions. */
export const rotaryTypes: readonly string[] = Object.keys(kinds);

/** The weights of an encoder, its shape, and its classifier if it has one. */
export interface RotaryModel<Source extends EncoderTensors> {
  shape: RotaryShape;
  head: ClassifierHead | null;
  weights: RotaryWeights & { source: Source };
}

/** The caller closes the weights. */
export type RotaryFiles = RotaryModel<SafetensorsFile>;

/** Opens `model.safetensors` of one of these types. Throws `INVALID_MODEL` if it does not match the settings. */
export async function openRotaryFiles(files: ModelFiles, settings: EncoderSettings): Promise<RotaryFiles> {
  shapeOf(settings, kindOf(settings));
  const source = await SafetensorsFile.open(files);
  try {
    return readRotary(settings, source);
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** Reads shape and names only. Throws `INVALID_MODEL` if tensors and settings do not match. */
export function readRotary<Source extends EncoderTensors>(
  settings: EncoderSettings,
  source: Source,
): RotaryModel<Source> {
  const kind = kindOf(settings);
  const shape = shapeOf(settings, kind);
  const prefix = findPrefix(source, ['', ...kind.prefixes], `${kind.names.words}.weight`);
  checkSizes(source, tensorSizes(shape, prefix));
  checkExperts(source, shape, prefix);
  const head = settings.isClassifier ? headOf(source, kind.head(settings, prefix), shape.hiddenSize) : null;
  return { shape, head, weights: { source, prefix } };
}

function kindOf(settings: EncoderSettings): RotaryKind {
  const kind = Object.hasOwn(kinds, settings.type) ? kinds[settings.type] : undefined;
  if (kind === undefined) throw settings.refuse(`its model_type is ${settings.type}`);
  return kind;
}

const maxLayers = 1_024;
const maxExperts = 256;
const maxPositions = 1_048_576;

function shapeOf(settings: EncoderSettings, { names, variant }: RotaryKind): RotaryShape {
  const layers = settings.size('layers', 'num_hidden_layers', 'n_layer');
  const hiddenSize = settings.size('hiddenSize', 'hidden_size', 'n_embd');
  const heads = settings.size('heads', 'num_attention_heads', 'n_head');
  if (hiddenSize % (2 * heads) !== 0) throw settings.refuse(`${heads} heads do not divide a size of ${hiddenSize}`);
  const positions = settings.size('positions', 'max_position_embeddings', 'n_positions', 'max_trained_positions');
  // Both size what is made before a tensor is read.
  if (layers > maxLayers) throw settings.refuse(`${layers} layers are more than ${maxLayers}`);
  if (positions > maxPositions) throw settings.refuse(`${positions} positions are more than ${maxPositions}`);
  return {
    layers,
    hiddenSize,
    heads,
    feedForwardSize: settings.size('feedForwardSize', 'intermediate_size', 'n_inner'),
    vocabularySize: settings.size('vocabularySize', 'vocab_size'),
    positions,
    names,
    ...variant(settings, layers),
  };
}

function tensorSizes(shape: RotaryShape, prefix: string): Record<string, number[]> {
  const { names, hiddenSize, feedForwardSize, vocabularySize, experts } = shape;
  const last = prefix + names.layer(shape.layers - 1);
  const isJoined = names.activated.part !== undefined;
  // The first layer has no experts.
  const dense = experts === undefined ? last : prefix + names.layer(experts.layers.lastIndexOf(false));
  return {
    [`${prefix}${names.words}.weight`]: [vocabularySize, hiddenSize],
    [`${last}${names.projections}.weight`]: [3 * hiddenSize, hiddenSize],
    [`${dense}${names.activated.name}.weight`]: [(isJoined ? 2 : 1) * feedForwardSize, hiddenSize],
    [`${dense}${names.down}.weight`]: [hiddenSize, feedForwardSize],
  };
}

/** Checks the last layer with experts, whose tensors may be stored as llama.cpp turns them. */
function checkExperts(source: EncoderTensors, shape: RotaryShape, prefix: string): void {
  const { names, hiddenSize, feedForwardSize, experts } = shape;
  const last = experts?.layers.lastIndexOf(true) ?? -1;
  if (experts === undefined || last < 0) return;
  const { router, up, down } = expertTensors(prefix + names.layer(last));
  const { count } = experts;
  const stacked = [count * feedForwardSize, hiddenSize];
  const isTurned = source.shapeOf(down).length === 3;
  checkSizes(source, {
    [router]: [count, hiddenSize],
    [up]: isTurned ? [count, feedForwardSize, hiddenSize] : stacked,
    [down]: isTurned ? [count, hiddenSize, feedForwardSize] : stacked,
  });
}

function headOf(
  source: EncoderTensors,
  { norm, ...head }: ReturnType<RotaryKind['head']>,
  size: number,
): ClassifierHead {
  checkOneScore(source, head.output, size);
  return {
    ...head,
    hasBias: source.has(`${head.dense}.bias`),
    norm: norm === null ? null : { name: norm, hasBias: source.has(`${norm}.bias`) },
    hasOutputBias: source.has(`${head.output}.bias`),
  };
}

/** Says of each layer whether it looks at near tokens only. */
function localLayers({ config }: EncoderSettings, layers: number): boolean[] {
  const { layer_types: types, global_attn_every_n_layers: every = 3 } = config;
  if (Array.isArray(types) && types.length === layers) return types.map((type) => type === 'sliding_attention');
  return Array.from({ length: layers }, (_, layer) => layer % Number(every) !== 0);
}

/** Model types whose positions may have it. */
const ntkTypes = ['gte', 'new'];

/** Returns the factor of the static scaling by which a context of GTE was stretched; 1 without one. */
function ntkFactor(settings: EncoderSettings): number {
  const { type, factor, mixed } = scalingOf(settings.config);
  if (type !== 'ntk') return 1;
  if (typeof factor === 'number' && factor >= 1 && (mixed === undefined || mixed === null)) return factor;
  throw settings.refuse('its rotary positions are scaled by another NTK than a factor');
}

/** The newer files have it beside the base, the older ones under a name of its own. */
function scalingOf({ rope_parameters: given, rope_scaling: scaling }: EncoderSettings['config']) {
  const object = [scaling, given].find((each) => typeof each === 'object' && each !== null);
  const { type, rope_type: kind = type, factor, mixed_b: mixed } = (object ?? {}) as Record<string, unknown>;
  return { type: kind, factor, mixed };
}

/** Returns the base of rotary frequencies. Throws `INVALID_MODEL` for positions that are scaled. */
function ropeBase(settings: EncoderSettings, otherwise: number, name: string, layerType?: string): number {
  const { rope_parameters: given, rope_scaling: scaling } = settings.config;
  const parameters = layerType === undefined ? given : (given as Record<string, unknown> | undefined)?.[layerType];
  const { rope_theta: base, rope_type: type } = (parameters ?? {}) as { rope_theta?: unknown; rope_type?: unknown };
  const isNtk = ntkTypes.includes(settings.type) && scalingOf(settings.config).type === 'ntk';
  if (type !== undefined && type !== 'default' && !isNtk) {
    throw settings.refuse(`its rotary positions are ${String(type)}`);
  }
  if (typeof scaling === 'object' && scaling !== null && !isNtk)
    throw settings.refuse('its rotary positions are scaled');
  return typeof base === 'number' ? base : settings.number(otherwise, name);
}
