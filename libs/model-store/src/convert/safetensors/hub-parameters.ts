import type { Hyperparameters } from '../decoder/decoder-source.js';
import { findArchitecture } from '../decoder/architectures.js';
import { maxLayers } from '../decoder/read-mixers.js';
import { invalidFile } from '../invalid-file.js';
import type { HubConfig, ParameterValue } from './hub-config.js';
import { expertCount, type HubArchitecture } from './hub-architectures.js';
import { readRotary } from './hub-rotary.js';

/** Values of `config.json` by the keys of GGUF. They were checked when they were read. */
export class HubParameters implements Hyperparameters {
  constructor(private readonly values: ReadonlyMap<string, ParameterValue>) {}

  has(key: string): boolean {
    return this.values.has(key);
  }

  number(key: string, fallback?: number): number {
    return this.value(key, 'number', fallback);
  }

  size(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (Number.isSafeInteger(value) && value >= 1) return value;
    throw invalidFile('config.json', `what gives ${key} is ${value}, not a size`);
  }

  text(key: string, fallback?: string): string {
    return this.value(key, 'string', fallback);
  }

  flag(key: string, fallback: boolean): boolean {
    return this.value(key, 'boolean', fallback);
  }

  optionalFlags(key: string): boolean[] | null {
    const value = this.values.get(key);
    return isList(value, 'boolean') ? value : null;
  }

  listedNumbers(key: string): number[] | null {
    const value = this.values.get(key);
    return isList(value, 'number') ? value : null;
  }

  private value<Kind extends 'number' | 'string' | 'boolean'>(
    key: string,
    kind: Kind,
    fallback: KindValue<Kind> | undefined,
  ): KindValue<Kind> {
    const value = this.values.get(key) ?? fallback;
    if (typeof value === kind) return value as KindValue<Kind>;
    throw invalidFile('config.json', `it does not say what GGUF calls ${key}`);
  }
}

function isList<Kind extends 'number' | 'boolean'>(
  value: ParameterValue | undefined,
  kind: Kind,
): value is KindValue<Kind>[] & ParameterValue {
  return Array.isArray(value) && value.every((item) => typeof item === kind);
}

type KindValue<Kind> = Kind extends 'number' ? number : Kind extends 'string' ? string : boolean;

const activations: Readonly<Record<string, string>> = {
  silu: 'silu',
  swish: 'silu',
  gelu: 'gelu',
  gelu_new: 'gelu-tanh',
  gelu_fast: 'gelu-tanh',
  gelu_pytorch_tanh: 'gelu-tanh',
};

/** What a configuration says, in the terms of GGUF. */
export interface HubSettings {
  values: Map<string, ParameterValue>;
  /** Divisors of rotary frequencies by the names of GGUF tensors. */
  factors: Record<string, Float32Array>;
}

/** Translates what all architectures share, and what is of this one. */
export function readSettings(config: HubConfig, hub: HubArchitecture): HubSettings {
  const heads = config.size('num_attention_heads');
  const hiddenSize = config.size('hidden_size');
  const headSize = hub.headSize?.(config) ?? config.size('head_dim', hiddenSize / heads);
  const layers = layersOf(config, hub);
  const { exactYarn = false, plainYarn = false } = findArchitecture(hub.architecture) ?? {};
  const growsQueries = ['mistral3', 'mistral4'].includes(hub.architecture);
  const rotary = readRotary(config, { headSize, isExact: exactYarn, isPlain: plainYarn, growsQueries });
  const found: Record<string, ParameterValue | undefined> = {
    context_length: config.size('max_position_embeddings'),
    embedding_length: hiddenSize,
    block_count: layers,
    feed_forward_length: Array.isArray(config.values['intermediate_size'])
      ? config.numbers('intermediate_size')
      : config.size('intermediate_size'),
    'attention.head_count': heads,
    'attention.head_count_kv': config.size('num_key_value_heads', heads),
    'attention.key_length': headSize,
    'attention.value_length': headSize,
    'attention.layer_norm_rms_epsilon': config.number('rms_norm_eps', 1e-6),
    hidden_activation: activationOf(config),
    'attention.causal': config.flag('is_causal', true) ? undefined : false,
    'attention.sliding_window': windowOf(config),
    'attention.sliding_window_pattern': windowedLayers(config),
    ...(hub.experts || hub.stackedExperts || hub.transposedExperts ? { expert_count: expertCount(config, hub) } : {}),
    ...rotary.parameters,
    ...hub.parameters?.(config),
  };
  const values = new Map<string, ParameterValue>();
  for (const [key, value] of Object.entries(found)) if (value !== undefined) values.set(key, value);
  return { values, factors: rotary.factors };
}

/** A list of the layers may replace their number. */
function layersOf(config: HubConfig, hub?: HubArchitecture): number {
  const listed = config.has('num_hidden_layers') ? undefined : hub?.kinds?.of(config).length;
  const layers = config.size('num_hidden_layers', listed);
  if (layers <= maxLayers) return layers;
  throw invalidFile('config.json', `its num_hidden_layers is ${layers}, more than ${maxLayers}`);
}

function activationOf(config: HubConfig): string {
  const name = config.text('hidden_activation', config.text('hidden_act', 'silu'));
  const activation = Object.hasOwn(activations, name) ? activations[name] : undefined;
  if (activation !== undefined) return activation;
  throw invalidFile('config.json', `its activation is ${name.slice(0, 40)}; silu and gelu are computed`);
}

function windowOf(config: HubConfig): number | undefined {
  if (!config.has('sliding_window') || !config.flag('use_sliding_window', true)) return undefined;
  return config.size('sliding_window');
}

/** A flag per layer, whether it has the window, or every how many layers one has not. `LLLG` repeats: L has it. */
function windowedLayers(config: HubConfig): boolean[] | number | undefined {
  if (config.listedWindows) return config.listedWindows;
  const { sliding_window_pattern: letters } = config.values;
  if (typeof letters === 'string' && /^[LG]+$/.test(letters)) {
    return Array.from({ length: layersOf(config) }, (_, layer) => letters[layer % letters.length] === 'L');
  }
  if (config.has('sliding_window_pattern')) return config.size('sliding_window_pattern');
  if (!config.has('max_window_layers')) return undefined;
  const first = config.number('max_window_layers');
  return Array.from({ length: config.size('num_hidden_layers') }, (_, layer) => layer >= first);
}
