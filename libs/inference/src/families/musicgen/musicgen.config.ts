import { join } from 'node:path';
import { productOf } from '#common/values';
import { PlatformError } from '#common';
import { readJsonIfPresent } from '../../text/index.js';

/** Sizes, limits and sampling settings of a MusicGen model. */
export interface MusicgenConfig {
  /** Streams of codes that together make one frame of audio. */
  codebooks: number;
  /** Codes per stream. */
  vocabularySize: number;
  /** Code for positions where a stream has none. */
  padId: number;
  sampleRate: number;
  framesPerSecond: number;
  /** Longest clip that the model supports. */
  maxSeconds: number;
  /** Guidance scale: distance from the unconditional prediction. 1 and less disable the comparison. */
  guidance: number;
  /** 0 always takes the likeliest code. */
  temperature: number;
  /** Number of likeliest codes to sample from; 0 means all. */
  topK: number;
}

interface ModelFile {
  model_type?: string;
  decoder?: { num_codebooks?: number; vocab_size?: number; pad_token_id?: number; audio_channels?: number };
  audio_encoder?: { sampling_rate?: number; upsampling_ratios?: number[] };
}

interface GenerationFile {
  guidance_scale?: number | null;
}

/** The authors' sampling settings; the published `generation_config.json` does not contain them. */
const publishedTopK = 250;
const publishedGuidance = 3;
const publishedMaxSeconds = 30;

/**
 * Reads `config.json` and `generation_config.json`; `familyOptions` (`guidance`, `temperature`, `topK`, `maxSeconds`)
 * take precedence. Throws `INVALID_MODEL` for another kind of model, and for stereo models, which interleave two
 * channels.
 */
export async function readMusicgenConfig(
  directory: string,
  familyOptions: Readonly<Record<string, string | number | boolean>>,
): Promise<MusicgenConfig> {
  const model = await readJsonIfPresent<ModelFile>(join(directory, 'config.json'));
  const generation = await readJsonIfPresent<GenerationFile>(join(directory, 'generation_config.json'));
  if (model?.model_type !== 'musicgen') throw unusable('its config.json is missing or not that of a MusicGen model');
  const { decoder = {}, audio_encoder: codec = {} } = model;
  if ((decoder.audio_channels ?? 1) !== 1) throw unusable('it generates stereo, and only mono is supported');
  const { sampling_rate: sampleRate = 24_000, upsampling_ratios: ratios = [8, 5, 4, 2] } = codec;
  return {
    codebooks: decoder.num_codebooks ?? 4,
    vocabularySize: decoder.vocab_size ?? 2_048,
    padId: decoder.pad_token_id ?? 2_048,
    sampleRate,
    framesPerSecond: sampleRate / productOf(ratios),
    maxSeconds: Number(familyOptions.maxSeconds ?? publishedMaxSeconds),
    guidance: Number(familyOptions.guidance ?? generation?.guidance_scale ?? publishedGuidance),
    temperature: Number(familyOptions.temperature ?? 1),
    topK: Number(familyOptions.topK ?? publishedTopK),
  };
}

function unusable(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model cannot be used: ${reason}.`);
}
