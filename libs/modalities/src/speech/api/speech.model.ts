import { PlatformError } from '#common';
import { builtMembers } from '#model-registry';
import {
  defaultVoiceOf,
  type ModelManifest,
  offeredFormats,
  type SpeechMembers,
  type VoiceCloning,
} from '#model-registry/manifest';
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

export function speechModel({ id, family, kindMembers }: ModelManifest): SpeechModel {
  const members = builtMembers<SpeechMembers>({ family }, kindMembers ?? {});
  const { voices = [], voice_cloning: cloning = null } = members;
  return { id, voices, cloning, ...offeredFormats(members, speechFormats) };
}

/** Returns the voice of requests that name none. */
export function defaultVoice({ id, voices }: SpeechModel): string {
  const voice = defaultVoiceOf(voices);
  if (voice !== null) return voice;
  throw new PlatformError('INVALID_REQUEST', `The model ${id} has no voice of its own; name one.`, 'voice');
}
