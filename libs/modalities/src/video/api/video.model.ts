import { PlatformError } from '#common';
import type { ModelManifest, VideoConstraints, VideoMembers } from '#model-registry/manifest';

/** What clients confirm before they may use a model. */
export type ConsentFlow = NonNullable<VideoMembers['consent']> & { flow: 'seedance' };

/** What a manifest of type `video` says. */
export interface VideoModel {
  id: string;
  /** What its family does with its inputs. */
  kind: 'interpolator' | 'upscaler' | 'generator';
  inputs: ReadonlySet<string>;
  aspectRatios: readonly string[];
  /** The default first. */
  resolutions: readonly string[];
  durations: readonly string[];
  audioConfigurable: boolean;
  promptCharacters: number;
  factors: readonly number[];
  frameRates: readonly number[];
  maxSourceSeconds: number;
  /** Generators: both sides of a frame are multiples of this. Even, as the video encoder requires. */
  sizeDivisor: number;
  /** Generators: short side in pixels without resolutions. */
  shortSide: number;
  privateDelivery: boolean;
  consent: ConsentFlow | null;
}

const kinds: Readonly<Record<string, VideoModel['kind']>> = {
  rife: 'interpolator',
  esrgan: 'upscaler',
  'text-to-video-sd': 'generator',
};

/** Optional fields of generators, whatever a manifest says. */
const generatorInputs = ['negative_prompt', 'seed', 'fps'];

/** Defaults where the manifest says nothing. */
const defaultPromptCharacters = 2_500;
const defaultSourceSeconds = 300;
const defaultFrameRate = 24;
/** The rate that the models of the reference pipeline were trained at. */
const defaultGeneratorRate = 8;
/** Needed by networks of four levels over latents of an eighth. */
const defaultSizeDivisor = 64;
/** The size that the first of these models was trained at. */
const defaultShortSide = 256;

/** Throws `INVALID_MODEL` for a family that makes no videos. */
export function videoModel({ id, family, familyOptions, constraints, kindMembers }: ModelManifest): VideoModel {
  const kind = kinds[family];
  if (kind === undefined) throw new PlatformError('INVALID_MODEL', `The model ${id} makes no videos.`, 'model');
  const { aspect_ratios, resolutions, durations, audio_configurable, prompt_character_limit } =
    constraints as unknown as VideoConstraints;
  const members = (kindMembers ?? {}) as Partial<VideoMembers>;
  const inputs = members.supported_inputs ?? [];
  const divisor = Number(familyOptions?.sizeDivisor ?? defaultSizeDivisor);
  return {
    id,
    kind,
    inputs: new Set(kind === 'generator' ? inputs.filter((field) => generatorInputs.includes(field)) : inputs),
    aspectRatios: aspect_ratios,
    resolutions,
    durations,
    audioConfigurable: audio_configurable,
    promptCharacters: prompt_character_limit ?? defaultPromptCharacters,
    factors: members.upscale_factors ?? [2],
    frameRates: members.frame_rates ?? [kind === 'generator' ? defaultGeneratorRate : defaultFrameRate],
    maxSourceSeconds: members.max_source_seconds ?? defaultSourceSeconds,
    shortSide: Number(familyOptions?.shortSide ?? defaultShortSide),
    sizeDivisor: divisor % 2 === 0 ? divisor : divisor * 2,
    privateDelivery: members.private_delivery ?? false,
    consent: (members.consent as ConsentFlow | undefined) ?? null,
  };
}
