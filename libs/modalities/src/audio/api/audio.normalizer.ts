import { charactersOf } from '#common';
import type { ModelManifest, Pricing } from '#model-registry/manifest';
import { fieldFault, isGiven } from '#platform/http';
import type { AudioJobPayload } from '../contract/audio.job.js';
import type { QueueAudioRequest, QuoteAudioRequest } from '../contract/audio.request.js';
import { type AudioSize, type AudioUnits, unitsOfAudio } from '../contract/index.js';
import { longSpeechModel, type LongSpeechModel } from './audio.model.js';
import { musicModel } from './music.model.js';
import { normalizeMusic, secondsOfMusic } from './music.normalizer.js';

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
  if (foreign !== undefined) throw fieldFault(`${foreign} is not taken by the model ${model.id}`, foreign, 'custom');
  const { prompt: text } = wire;
  if (charactersOf(text) > model.promptCharacters) {
    throw fieldFault(`prompt may have ${model.promptCharacters} characters with this model`, 'prompt', 'too_big');
  }
  const voice = wire.voice ?? (model.voices.includes(usualVoice) ? usualVoice : model.voices[0]);
  if (voice === undefined || !model.voices.includes(voice)) {
    throw fieldFault(`voice must be one of: ${model.voices.join(', ')}`, 'voice', 'invalid_enum_value');
  }
  return { text, voice, speed: wire.speed ?? 1, language: wire.language_code ?? null, format: model.format };
}

/** What a request asks of its model, music or a voice. Throws `INVALID_REQUEST` naming the field at fault. */
export function normalizeAudio(wire: QueueAudioRequest, manifest: ModelManifest): Omit<AudioJobPayload, 'units'> {
  if (manifest.type === 'music') return normalizeMusic(wire, musicModel(manifest));
  return normalizeLongSpeech(wire, longSpeechModel(manifest));
}

export function sizeOfAudio({ text, music }: Omit<AudioJobPayload, 'units'>): AudioSize {
  return { characters: charactersOf(text), seconds: music?.seconds ?? null };
}

/** Music has a length even where none is named; a text has the one that it takes to say it. */
export function sizeOfQuote(wire: QuoteAudioRequest, manifest: ModelManifest): AudioSize {
  const { duration_seconds: given, character_count: characters } = wire;
  const seconds = manifest.type === 'music' ? secondsOfMusic(given, musicModel(manifest)) : given;
  return { characters: characters ?? null, seconds: isGiven(seconds) ? Number(seconds) : null };
}

/** What a job of this size uses. Throws `INVALID_REQUEST` naming the field that its price depends on. */
export function quotedUnits(pricing: Pricing | null, size: AudioSize): AudioUnits {
  const units = unitsOfAudio(pricing, size);
  if (typeof units !== 'string') return units;
  const given = units === 'duration_seconds' && size.seconds !== null;
  const problem = given ? 'is in none of the durations of this model' : 'is required: the price depends on it';
  throw fieldFault(`${units} ${problem}`, units, given ? 'custom' : 'required');
}
