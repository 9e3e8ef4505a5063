import { randomInt } from 'node:crypto';
import { charactersOf } from '#common';
import { checkLength, fieldNotTaken, invalidField, refuseFields } from '#gateway';
import { isGiven } from '#platform/http';
import type { AudioJobPayload } from '../contract/audio.job.js';
import { largestSeed, type QueueAudioRequest } from '../contract/audio.request.js';
import type { MusicModel } from './music.model.js';

/** Fields for voices and singing, which no family here supports, whatever a manifest says. */
const foreignFields = ['lyrics_prompt', 'lyrics_optimizer', 'loop', 'voice', 'language_code', 'speed'] as const;

/** Throws `INVALID_REQUEST` naming the field that the model cannot fulfil. Prices are checked elsewhere. */
export function normalizeMusic(body: QueueAudioRequest, model: MusicModel): Omit<AudioJobPayload, 'units'> {
  refuseFields(body, foreignFields, model);
  if (!model.takesInstrumental) refuseFields(body, ['force_instrumental'], model);
  const { prompt: text } = body;
  const { min, max } = model.promptCharacters;
  checkLength('prompt', text, max);
  if (charactersOf(text) < min)
    throw invalidField(`prompt needs ${min} characters with this model.`, 'prompt', 'too_small');
  const seconds = secondsOfMusic(body.duration_seconds, model);
  // Chosen here, so that a job that restarts on another worker makes the same piece.
  const seed = isGiven(body.seed) ? body.seed : randomInt(largestSeed);
  return { text, voice: null, speed: 1, language: null, format: model.format, music: { seconds, seed } };
}

/** Returns the requested length or the model's default. Throws `INVALID_REQUEST`. */
export function secondsOfMusic(duration: number | string | null | undefined, model: MusicModel): number {
  if (!isGiven(duration)) return model.defaultSeconds;
  if (model.choice === null) throw fieldNotTaken('duration_seconds', model);
  const { options, min, max } = model.choice;
  const seconds = Number(duration);
  if (options.length > 0 ? options.includes(seconds) : seconds >= min && seconds <= max) return seconds;
  const wanted = options.length > 0 ? `one of: ${options.join(', ')}` : `${min} to ${max}`;
  throw invalidField(`duration_seconds must be ${wanted}.`, 'duration_seconds');
}
