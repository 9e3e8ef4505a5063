import { charactersOf, PlatformError } from '#common';
import type { AudioJobPayload } from '../contract/audio.job.js';
import type { QueueAudioRequest } from '../contract/audio.request.js';
import type { LongSpeechModel } from './audio.model.js';

/** Fields for songs: a voice that reads a text has no use for them. */
const songFields = [
  'lyrics_prompt',
  'lyrics_optimizer',
  'duration_seconds',
  'force_instrumental',
  'loop',
  'seed',
] as const;

/** The voice of callers who name none, where a model has it (contract 6.1). */
const usualVoice = 'af_sky';

/** Throws `INVALID_REQUEST` naming the field that the model cannot fulfil. What it costs is not known here. */
export function normalizeLongSpeech(wire: QueueAudioRequest, model: LongSpeechModel): Omit<AudioJobPayload, 'units'> {
  const foreign = songFields.find((field) => wire[field] !== undefined && wire[field] !== null);
  if (foreign !== undefined) throw refusal(`${foreign} is not taken by the model ${model.id}`, foreign, 'custom');
  const { prompt: text } = wire;
  if (charactersOf(text) > model.promptCharacters) {
    throw refusal(`prompt may have ${model.promptCharacters} characters with this model`, 'prompt', 'too_big');
  }
  const voice = wire.voice ?? (model.voices.includes(usualVoice) ? usualVoice : model.voices[0]);
  if (voice === undefined || !model.voices.includes(voice)) {
    throw refusal(`voice must be one of: ${model.voices.join(', ')}`, 'voice', 'invalid_enum_value');
  }
  return { text, voice, speed: wire.speed ?? 1, language: wire.language_code ?? null, format: model.format };
}

export function refusal(message: string, param: string, code: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `${message}.`, param, { issues: [{ code, path: [param], message }] });
}
