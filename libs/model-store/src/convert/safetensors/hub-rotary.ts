import { invalidFile } from '../invalid-file.js';
import type { HubConfig, ParameterValue } from './hub-config.js';

/** Rotary embedding of a `config.json`, in the terms of GGUF. */
export interface HubRotary {
  parameters: Record<string, ParameterValue>;
  /** Divisors of the frequencies by the names of GGUF tensors. */
  factors: Record<string, Float32Array>;
}

/** The rotation of an architecture, as far as files do not say it. */
export interface RotaryKind {
  headSize: number;
  /** It computes YaRN with exact bounds. */
  isExact: boolean;
  /** Its YaRN leaves the magnitude of rotated values as it is. */
  isPlain: boolean;
  /** Its queries may grow with their position. */
  growsQueries: boolean;
}

/**
 * Reads `rope_theta` with `rope_scaling`, or `rope_parameters` of later files, which has both, per kind of layer where
 * they differ.
 */
export function readRotary(config: HubConfig, kind: RotaryKind): HubRotary {
  const { headSize } = kind;
  const settings = config.object('rope_parameters') ?? config.object('rope_scaling');
  const scaling = settings?.object('full_attention') ?? settings;
  const base = scaling?.has('rope_theta') ? scaling.number('rope_theta') : config.number('rope_theta', 10_000);
  const share = scaling?.has('partial_rotary_factor') ? scaling : config;
  const dimensions = Math.floor(headSize * share.number('partial_rotary_factor', 1));
  const parameters: HubRotary['parameters'] = { 'rope.freq_base': base, 'rope.dimension_count': dimensions };
  const windowBase = settings?.object('sliding_attention') ?? null;
  if (windowBase !== null) parameters['rope.freq_base_swa'] = windowBase.number('rope_theta', base);
  if (config.has('rope_local_base_freq')) parameters['rope.freq_base_swa'] = config.number('rope_local_base_freq');
  if (scaling === null) return { parameters, factors: {} };
  const growth = scaling.number('llama_4_scaling_beta', 0);
  if (growth !== 0 && !kind.growsQueries) {
    throw invalidFile(
      'config.json',
      'its queries grow with their position (llama_4_scaling_beta); its GGUF file is converted',
    );
  }
  if (growth !== 0) parameters['attention.temperature_scale'] = growth;
  if (scaling.has('mrope_section')) parameters['rope.dimension_sections'] = scaling.numbers('mrope_section');
  // Older files call it `type`.
  const name = scaling.text('rope_type', scaling.text('type', 'default'));
  const scale = Object.hasOwn(scalings, name) ? scalings[name] : undefined;
  if (scale === undefined) throw invalidFile('config.json', `its rotary scaling ${name.slice(0, 40)} is not converted`);
  const found = scale({ scaling, config, base, dimensions, kind });
  return { parameters: { ...parameters, ...found.parameters }, factors: found.factors ?? {} };
}

interface ScalingInput {
  scaling: HubConfig;
  config: HubConfig;
  base: number;
  dimensions: number;
  kind: RotaryKind;
}

type Scaling = (input: ScalingInput) => Partial<HubRotary>;

const scalings: Readonly<Record<string, Scaling>> = {
  default: () => ({}),
  // The positions of images have several axes, which changes nothing for text.
  mrope: () => ({}),
  dynamic: readDynamic,
  proportional: readProportional,
  linear: ({ scaling }) => ({
    parameters: { 'rope.scaling.type': 'linear', 'rope.scaling.factor': scaling.number('factor') },
  }),
  llama3: (input) => ({ factors: { 'rope_freqs.weight': llama3Factors(input) } }),
  yarn: readYarn,
  longrope: readLongRope,
  // Its name before it was published.
  su: readLongRope,
};

/** The base is spread over whole heads, and pairs behind a share of them do not rotate. */
function readProportional({ scaling, kind: { headSize } }: ScalingInput): Partial<HubRotary> {
  const rotated = Math.floor((headSize * scaling.number('partial_rotary_factor', 1)) / 2);
  const factor = scaling.number('factor', 1);
  const factors = Float32Array.from({ length: headSize / 2 }, (_, pair) => (pair < rotated ? factor : still));
  return { parameters: { 'rope.dimension_count': headSize }, factors: { 'rope_freqs.weight': factors } };
}

/** Divisor of the frequency of a pair that does not rotate, as GGUF files have it. */
const still = 1e30;

/** An `alpha`, as Hunyuan has it, scales the base alone, whatever the length of the text. */
function readDynamic({ scaling, config, base, dimensions }: ScalingInput): Partial<HubRotary> {
  const alpha = scaling.number('alpha', 0);
  if (alpha > 0) return { parameters: { 'rope.freq_base': base * alpha ** (dimensions / (dimensions - 2)) } };
  return {
    parameters: {
      'rope.scaling.type': 'dynamic',
      'rope.scaling.factor': scaling.number('factor'),
      'rope.scaling.original_context_length': config.size('max_position_embeddings'),
    },
  };
}

/** Slow pairs are stretched by the factor, fast ones kept, those between are interpolated. */
function llama3Factors({ scaling, config, base, dimensions }: ScalingInput): Float32Array {
  const factor = scaling.number('factor');
  const low = scaling.number('low_freq_factor');
  const high = scaling.number('high_freq_factor');
  const original = scaling.number('original_max_position_embeddings', config.number('max_position_embeddings'));
  return Float32Array.from({ length: dimensions / 2 }, (_, pair) => {
    const turns = (original * base ** ((-2 * pair) / dimensions)) / (2 * Math.PI);
    if (turns < low) return factor;
    if (turns > high) return 1;
    const smooth = (turns - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

function readYarn({ scaling, config, kind }: ScalingInput): Partial<HubRotary> {
  const hasExactBounds = !scaling.flag('truncate', true);
  if (hasExactBounds !== kind.isExact) {
    const bounds = hasExactBounds ? 'exact' : 'whole';
    throw invalidFile('config.json', `its rotary scaling yarn has ${bounds} bounds (truncate), which is not converted`);
  }
  const context = config.size('max_position_embeddings');
  const original = scaling.size('original_max_position_embeddings', context);
  const factor = scaling.number('factor', context / original);
  const common = yarnMagnitude(factor, 1);
  const [part, all] = [scaling.number('mscale', 0), scaling.number('mscale_all_dim', 0)];
  const computed = part > 0 && all > 0 ? yarnMagnitude(factor, part) / yarnMagnitude(factor, all) : common;
  return {
    parameters: {
      'rope.scaling.type': 'yarn',
      'rope.scaling.factor': factor,
      'rope.scaling.original_context_length': original,
      'rope.scaling.yarn_beta_fast': scaling.number('beta_fast', 32),
      'rope.scaling.yarn_beta_slow': scaling.number('beta_slow', 1),
      // GGUF's factor is relative to what the architecture computes.
      'rope.scaling.attn_factor': scaling.number('attention_factor', computed) / (kind.isPlain ? 1 : common),
    },
  };
}

function yarnMagnitude(factor: number, scale: number): number {
  return factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1;
}

function readLongRope({ scaling, config, dimensions }: ScalingInput): Partial<HubRotary> {
  const factorsOf = (name: string): Float32Array => {
    const factors = scaling.numbers(name);
    if (factors.length === dimensions / 2) return Float32Array.from(factors);
    throw invalidFile('config.json', `its ${name} has ${factors.length} factors, not ${dimensions / 2}`);
  };
  const context = config.size('max_position_embeddings');
  const holder = scaling.has('original_max_position_embeddings') ? scaling : config;
  const original = holder.size('original_max_position_embeddings', context);
  const factor = scaling.number('factor', context / original);
  const common = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original));
  return {
    parameters: {
      'rope.scaling.original_context_length': original,
      'rope.scaling.attn_factor': scaling.number('attention_factor', common),
    },
    factors: {
      'rope_factors_long.weight': factorsOf('long_factor'),
      'rope_factors_short.weight': factorsOf('short_factor'),
    },
  };
}
