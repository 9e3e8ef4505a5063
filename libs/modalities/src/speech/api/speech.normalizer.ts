import type { PlatformError } from '#common';
import { invalidField } from '#gateway';
import type { SpeechFormat, SpeechJobPayload } from '../contract/speech.job.js';
import type { SpeechRequest } from '../contract/speech.request.js';
import { defaultVoice, type SpeechModel } from './speech.model.js';
import { isVoiceHandle } from './voice-handle.js';

/** A normalized request, without the sample of a cloned voice, which the account's voices provide. */
export interface NormalizedSpeech {
  payload: SpeechJobPayload;
  /** A handle of `POST /audio/voices`, or null. */
  handle: string | null;
  streaming: boolean;
}

/** The same error for a handle that is unknown, expired or another account's, so that it reveals nothing. */
export function unknownVoice({ id, voices }: SpeechModel): PlatformError {
  const message = `voice must be one of the voices of the model ${id}: ${voices.join(', ')}`;
  return invalidField(message, 'voice', 'invalid_enum_value');
}

function formatOf(wire: SpeechRequest, model: SpeechModel): SpeechFormat {
  const format = wire.response_format ?? model.defaultFormat;
  if (model.formats.includes(format)) return format;
  const message = `response_format must be one that the model ${model.id} writes: ${model.formats.join(', ')}`;
  throw invalidField(message, 'response_format', 'invalid_enum_value');
}

/** Throws `INVALID_REQUEST` naming the field that the model cannot fulfil. Null counts as absent. */
export function normalizeSpeech(wire: SpeechRequest, model: SpeechModel): NormalizedSpeech {
  const format = formatOf(wire, model);
  const options = wire.voice ?? null;
  const voice = options === null || options === '' ? defaultVoice(model) : options;
  const isHandle = !model.voices.includes(voice) && model.cloning !== null && isVoiceHandle(voice);
  if (!isHandle && !model.voices.includes(voice)) throw unknownVoice(model);
  return {
    payload: {
      text: wire.input,
      voice: isHandle ? null : voice,
      sampleId: null,
      speed: wire.speed ?? 1,
      language: wire.language ?? null,
      format,
    },
    handle: isHandle ? voice : null,
    streaming: wire.streaming ?? false,
  };
}
