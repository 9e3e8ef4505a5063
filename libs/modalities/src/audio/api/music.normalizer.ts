import { randomInt } from 'node:crypto';
import { charactersOf } from '#common';
import { fieldFault, isGiven } from '#platform/http';
import type { AudioJobPayload } from '../contract/audio.job.js';
import { largestSeed, type QueueAudioRequest } from '../contract/audio.request.js';
import type { MusicModel } from './music.model.js';

/** Fields for voices and for singing, which no family here can do, whatever a manifest says. */
const foreignFields = [
  'lyrics_prompt',
  'lyrics_optimizer',
  'loop',
  'voice',
  'language_code',
  'speed',
] as const satisfies readonly (keyof QueueAudioRequest)[];

/** Throws `INVALID_REQUEST` naming the field that the model cannot fulfil. What it costs is not known here. */
export function normalizeMusic(wire: QueueAudioRequest, model: MusicModel): Omit<AudioJobPayload, 'units'> {
  const foreign = foreignFields.find((field) => isGiven(wire[field]));
  if (foreign !== undefined) throw notTaken(foreign, model);
  if (isGiven(wire.force_instrumental) && !model.takesInstrumental) throw notTaken('force_instrumental', model);
  const { prompt: text } = wire;
  const { min, max } = model.promptCharacters;
  const characters = charactersOf(text);
  if (characters > max) throw fieldFault(`prompt may have ${max} characters with this model`, 'prompt', 'too_big');
  if (characters < min) throw fieldFault(`prompt needs ${min} characters with this model`, 'prompt', 'too_small');
  const seconds = secondsOfMusic(wire.duration_seconds, model);
  // Chosen here, so that a job that another worker begins anew brings the same piece.
  const seed = isGiven(wire.seed) ? wire.seed : randomInt(largestSeed);
  return { text, voice: null, speed: 1, language: null, format: model.format, music: { seconds, seed } };
}

/** The length a caller asks for, or the model's usual one. Throws `INVALID_REQUEST`. */
export function secondsOfMusic(given: number | string | null | undefined, model: MusicModel): number {
  if (!isGiven(given)) return model.usualSeconds;
  if (model.choice === null) throw notTaken('duration_seconds', model);
  const { options, min, max } = model.choice;
  const seconds = Number(given);
  if (options.length > 0 ? options.includes(seconds) : seconds >= min && seconds <= max) return seconds;
  const wanted = options.length > 0 ? `one of: ${options.join(', ')}` : `${min} to ${max}`;
  throw fieldFault(`duration_seconds must be ${wanted}`, 'duration_seconds', 'custom');
}

function notTaken(field: string, { id }: MusicModel) {
  return fieldFault(`${field} is not taken by the model ${id}`, field, 'custom');
}
