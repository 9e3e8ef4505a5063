import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';

/** `constraints` of a video model (contract 9.1); an empty list means that there is nothing to choose. */
interface VideoConstraints {
  aspect_ratios: string[];
  resolutions: string[];
  durations: string[];
  audio: boolean;
  audio_configurable: boolean;
  prompt_character_limit?: number;
}

/** What callers confirm before a model works for them. */
export interface ConsentFlow {
  flow: 'seedance';
  consent_version: string;
  policy_text: string;
  docs_url: string;
}

interface Members {
  supported_inputs?: string[];
  upscale_factors?: number[];
  frame_rates?: number[];
  max_source_seconds?: number;
  private_delivery?: boolean;
  consent?: ConsentFlow;
}

/** What a manifest of type `video` says of itself. */
export interface VideoModel {
  id: string;
  /** What its family does with what it is given. */
  kind: 'interpolator' | 'upscaler';
  inputs: ReadonlySet<string>;
  aspectRatios: readonly string[];
  /** The usual one first. */
  resolutions: readonly string[];
  durations: readonly string[];
  audioConfigurable: boolean;
  promptCharacters: number;
  factors: readonly number[];
  frameRates: readonly number[];
  maxSourceSeconds: number;
  privateDelivery: boolean;
  consent: ConsentFlow | null;
}

const kinds: Readonly<Record<string, VideoModel['kind']>> = { rife: 'interpolator', esrgan: 'upscaler' };

/** Contract 8.2, where the model says nothing. */
const usualPromptCharacters = 2_500;
const usualSourceSeconds = 300;
const usualFrameRate = 24;

/** Throws `INVALID_MODEL` for a family that makes no videos. */
export function videoModel({ id, family, constraints, kindMembers }: ModelManifest): VideoModel {
  const kind = kinds[family];
  if (kind === undefined) throw new PlatformError('INVALID_MODEL', `The model ${id} makes no videos.`, 'model');
  const { aspect_ratios, resolutions, durations, audio_configurable, prompt_character_limit } =
    constraints as unknown as VideoConstraints;
  const members = (kindMembers ?? {}) as Members;
  return {
    id,
    kind,
    inputs: new Set(members.supported_inputs),
    aspectRatios: aspect_ratios,
    resolutions,
    durations,
    audioConfigurable: audio_configurable,
    promptCharacters: prompt_character_limit ?? usualPromptCharacters,
    factors: members.upscale_factors ?? [2],
    frameRates: members.frame_rates ?? [usualFrameRate],
    maxSourceSeconds: members.max_source_seconds ?? usualSourceSeconds,
    privateDelivery: members.private_delivery ?? false,
    consent: members.consent ?? null,
  };
}
