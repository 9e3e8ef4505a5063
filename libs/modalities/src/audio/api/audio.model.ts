import { type ModelManifest, offeredFormats, type SpeechMembers } from '#model-registry/manifest';
import { type LongAudioFormat, longAudioFormats, defaultPromptCharacters } from '../contract/index.js';

/** Types of models that make queued audio: music and effects, and voices for long texts. */
export const audioTypes = ['music', 'tts'] as const;

/** What a manifest says about long texts. */
export interface LongSpeechModel {
  id: string;
  voices: readonly string[];
  promptCharacters: number;
  format: LongAudioFormat;
}

/** Reads what a manifest of type `tts` says about long texts. */
export function longSpeechModel({ id, kindMembers }: ModelManifest): LongSpeechModel {
  const members = (kindMembers ?? {}) as SpeechMembers;
  const { voices = [], prompt_character_limit: promptCharacters = defaultPromptCharacters } = members;
  return { id, voices, promptCharacters, format: offeredFormats(members, longAudioFormats).defaultFormat };
}
