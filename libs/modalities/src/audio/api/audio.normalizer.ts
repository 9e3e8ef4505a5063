import { charactersOf } from '#common';
import { checkLength, checkOneOf, invalidField, refuseFields } from '#gateway';
import { defaultVoiceOf, type ModelManifest, type Pricing } from '#model-registry/manifest';
import { isGiven } from '#platform/http';
import type { AudioJobPayload } from '../contract/audio.job.js';
import type { QueueAudioRequest, QuoteAudioRequest } from '../contract/audio.request.js';
import { type AudioSize, type AudioUnits, unitsOfAudio } from '../contract/index.js';
import { longSpeechModel, type LongSpeechModel } from './audio.model.js';
import { musicModel } from './music.model.js';
import { normalizeMusic, secondsOfMusic } from './music.normalizer.js';

/** Fields for songs, which models that read a text do not take. */
const songFields = [
  'lyrics_prompt',
  'lyrics_optimizer',
  'duration_seconds',
  'force_instrumental',
  'loop',
  'seed',
] as const;

/** Throws `INVALID_REQUEST` naming the field that the model cannot fulfil. Prices are checked elsewhere. */
export function normalizeLongSpeech(body: QueueAudioRequest, model: LongSpeechModel): Omit<AudioJobPayload, 'units'> {
  refuseFields(body, songFields, model);
  const { prompt: text } = body;
  checkLength('prompt', text, model.promptCharacters);
  const voice = body.voice ?? defaultVoiceOf(model.voices) ?? '';
  checkOneOf('voice', voice, model.voices);
  return { text, voice, speed: body.speed ?? 1, language: body.language_code ?? null, format: model.format };
}

/** Normalizes a request for music or speech. Throws `INVALID_REQUEST` naming the invalid field. */
export function normalizeAudio(body: QueueAudioRequest, manifest: ModelManifest): Omit<AudioJobPayload, 'units'> {
  if (manifest.type === 'music') return normalizeMusic(body, musicModel(manifest));
  return normalizeLongSpeech(body, longSpeechModel(manifest));
}

export function sizeOfAudio({ text, music }: Omit<AudioJobPayload, 'units'>): AudioSize {
  return { characters: charactersOf(text), seconds: music?.seconds ?? null };
}

/** Music has a default length; the length of speech depends on its text. */
export function sizeOfQuote(body: QuoteAudioRequest, manifest: ModelManifest): AudioSize {
  const { duration_seconds: duration, character_count: characters } = body;
  const seconds = manifest.type === 'music' ? secondsOfMusic(duration, musicModel(manifest)) : duration;
  return { characters: characters ?? null, seconds: isGiven(seconds) ? Number(seconds) : null };
}

/** Returns what a job of this size uses. Throws `INVALID_REQUEST` naming the field that the price depends on. */
export function quotedUnits(pricing: Pricing | null, size: AudioSize): AudioUnits {
  const units = unitsOfAudio(pricing, size);
  if (typeof units !== 'string') return units;
  const hasDuration = units === 'duration_seconds' && size.seconds !== null;
  const problem = hasDuration ? 'is in none of the durations of this model' : 'is required: the price depends on it';
  throw invalidField(`${units} ${problem}.`, units, hasDuration ? 'custom' : 'required');
}
