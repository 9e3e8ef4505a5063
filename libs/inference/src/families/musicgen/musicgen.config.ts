import { join } from 'node:path';
import { PlatformError } from '#common';
import { readJsonIfPresent } from '../../text/index.js';

/** What the numbers of a model mean. */
export interface MusicgenConfig {
  /** Streams of codes that make one frame of sound together. */
  codebooks: number;
  /** Codes of each of them. */
  vocabularySize: number;
  /** Stands where a stream has no code. */
  padId: number;
  sampleRate: number;
  framesPerSecond: number;
  /** Longest piece that the model was made for. */
  maxSeconds: number;
  /** How far the answer moves away from the one without a prompt; 1 and less: no comparison. */
  guidance: number;
  /** 0: always the likeliest code. */
  temperature: number;
  /** How many of the likeliest codes are drawn from; 0: all. */
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

/** What the authors sample with; the published `generation_config.json` says nothing of it. */
const publishedTopK = 250;
const publishedGuidance = 3;
const publishedMaxSeconds = 30;

/**
 * Reads `config.json` and `generation_config.json`; `familyOptions` (`guidance`, `temperature`, `topK`, `mostSeconds`) goes
 * before them. Throws `INVALID_MODEL` for a model of another kind, and for stereo ones, which interleave two channels.
 */
export async function readMusicgenConfig(
  directory: string,
  familyOptions: Readonly<Record<string, string | number | boolean>>,
): Promise<MusicgenConfig> {
  const model = await readJsonIfPresent<ModelFile>(join(directory, 'config.json'));
  const generation = await readJsonIfPresent<GenerationFile>(join(directory, 'generation_config.json'));
  if (model?.model_type !== 'musicgen') throw unusable('its config.json is missing or not that of a MusicGen');
  const { decoder = {}, audio_encoder: codec = {} } = model;
  if ((decoder.audio_channels ?? 1) !== 1) throw unusable('it makes stereo, and only mono is supported');
  const { sampling_rate: sampleRate = 24_000, upsampling_ratios: ratios = [8, 5, 4, 2] } = codec;
  return {
    codebooks: decoder.num_codebooks ?? 4,
    vocabularySize: decoder.vocab_size ?? 2_048,
    padId: decoder.pad_token_id ?? 2_048,
    sampleRate,
    framesPerSecond: sampleRate / ratios.reduce((product, ratio) => product * ratio, 1),
    maxSeconds: Number(familyOptions.maxSeconds ?? publishedMaxSeconds),
    guidance: Number(familyOptions.guidance ?? generation?.guidance_scale ?? publishedGuidance),
    temperature: Number(familyOptions.temperature ?? 1),
    topK: Number(familyOptions.topK ?? publishedTopK),
  };
}

function unusable(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model cannot be used: ${reason}.`);
}
