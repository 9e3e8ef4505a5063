import { PlatformError } from '#common';
import type { InferenceServices } from '#jobs';
import type { ResolvedModel } from '#model-registry';
import type { ModelManifest } from '#model-registry/manifest';
import { type SoundFormat, soundFormats, usualPromptCharacters } from '../contract/index.js';

/** Kinds of models that have queued sound: songs and effects, and voices for long texts. */
export const audioTypes = ['music', 'tts'] as const;

/** What a manifest says of long texts. */
export interface LongSpeechModel {
  id: string;
  voices: readonly string[];
  promptCharacters: number;
  format: SoundFormat;
}

interface Members {
  voices?: string[];
  supported_formats?: string[];
  default_format?: string;
  prompt_character_limit?: number;
}

/** The model of either type that a name means. Rejects as `InferenceServices.resolve` does. */
export async function resolveAudioModel(
  { resolve }: InferenceServices,
  name: string,
  headers: Parameters<InferenceServices['resolve']>[2],
): Promise<ResolvedModel> {
  try {
    return await resolve(name, 'music', headers);
  } catch (error) {
    const isOther = error instanceof PlatformError && ['MODEL_NOT_FOUND', 'INVALID_MODEL'].includes(error.code);
    if (!isOther) throw error;
    return await resolve(name, 'tts', headers);
  }
}

/** Throws `INVALID_MODEL` for models that make other sound than speech: there is no family for them yet. */
export function longSpeechModel({ id, type, kindMembers }: ModelManifest): LongSpeechModel {
  if (type !== 'tts')
    throw new PlatformError('INVALID_MODEL', `The model ${id} cannot be run by this service.`, 'model');
  const {
    voices = [],
    supported_formats: named,
    default_format: usual,
    prompt_character_limit: limit,
  } = {
    ...(kindMembers as Members | undefined),
  };
  const formats = soundFormats.filter((format) => named?.includes(format) ?? true);
  return {
    id,
    voices,
    promptCharacters: limit ?? usualPromptCharacters,
    format: formats.find((format) => format === usual) ?? formats[0] ?? 'mp3',
  };
}
