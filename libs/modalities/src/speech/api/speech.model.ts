import { PlatformError } from '#common';
import type { ModelManifest, SpeechMembers, VoiceCloning } from '#model-registry/manifest';
import { type SpeechFormat, speechFormats } from '../contract/speech.job.js';

/** What a manifest of type `tts` says about its voices. */
export interface SpeechModel {
  id: string;
  voices: readonly string[];
  /** Null for models that cannot clone voices. */
  cloning: VoiceCloning | null;
  formats: readonly SpeechFormat[];
  defaultFormat: SpeechFormat;
}

/** Default voice, if the model has it. */
const usualVoice = 'af_sky';

export function speechModel({ id, kindMembers }: ModelManifest): SpeechModel {
  const members = (kindMembers ?? {}) as SpeechMembers;
  const { voices = [], voice_cloning: cloning = null, supported_formats: named, default_format: usual } = members;
  const formats = speechFormats.filter((format) => named?.includes(format) ?? true);
  const defaultFormat = formats.find((format) => format === usual) ?? formats[0] ?? 'mp3';
  return { id, voices, cloning, formats, defaultFormat };
}

/** Returns the voice of requests that name none. */
export function defaultVoice({ id, voices }: SpeechModel): string {
  const voice = voices.includes(usualVoice) ? usualVoice : voices[0];
  if (voice !== undefined) return voice;
  throw new PlatformError('INVALID_REQUEST', `The model ${id} has no voice of its own; name one.`, 'voice');
}
