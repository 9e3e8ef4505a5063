import type { ModelManifest } from '#model-registry/manifest';
import { type LongAudioFormat, longAudioFormats, usualPromptCharacters } from '../contract/index.js';

/** Kinds of models that have queued sound: songs and effects, and voices for long texts. */
export const audioTypes = ['music', 'tts'] as const;

/** What a manifest says of long texts. */
export interface LongSpeechModel {
  id: string;
  voices: readonly string[];
  promptCharacters: number;
  format: LongAudioFormat;
}

interface Members {
  voices?: string[];
  supported_formats?: string[];
  default_format?: string;
  prompt_character_limit?: number;
}

/** What a manifest of type `tts` says of long texts. */
export function longSpeechModel({ id, kindMembers }: ModelManifest): LongSpeechModel {
  const members = (kindMembers ?? {}) as Members;
  const { voices = [], prompt_character_limit: limit } = members;
  return {
    id,
    voices,
    promptCharacters: limit ?? usualPromptCharacters,
    format: longAudioFormatOf(members),
  };
}

/** The model's usual format, or the first of its formats that results may have. */
export function longAudioFormatOf({
  supported_formats: named,
  default_format: usual,
}: Pick<Members, 'supported_formats' | 'default_format'>): LongAudioFormat {
  const formats = longAudioFormats.filter((format) => named?.includes(format) ?? true);
  return formats.find((format) => format === usual) ?? formats[0] ?? 'mp3';
}
