import type { PlatformError } from '#common';
import { invalidField } from '#gateway';
import type { SpeechFormat, SpeechJobPayload } from '../contract/speech.job.js';
import type { SpeechRequest } from '../contract/speech.request.js';
import { defaultVoice, type SpeechModel } from './speech.model.js';
import { isVoiceHandle } from './voice-handle.js';

/**
 * OpenAI's voices, which its clients name by default. No model here has them.
 */
const openaiVoices = [
  'alloy',
  'ash',
  'ballad',
  'cedar',
  'coral',
  'echo',
  'fable',
  'marin',
  'nova',
  'onyx',
  'sage',
  'shimmer',
  'verse',
] as const;

/**
 * Returns the voice of a model that stands for one of OpenAI's: the one whose name ends with it, such as `af_alloy`, else
 * always the same of the others. Null for a name that is none of theirs.
 */
function voiceForOpenaiName(name: string, voices: readonly string[]): string | null {
  const position = openaiVoices.findIndex((known) => known === name.toLowerCase());
  if (position < 0 || voices.length === 0) return null;
  const namesake = voices.find((voice) => voice.split(/[_-]/).at(-1)?.toLowerCase() === name.toLowerCase());
  return namesake ?? voices[position % voices.length] ?? null;
}

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

function formatOf(body: SpeechRequest, model: SpeechModel): SpeechFormat {
  const format = body.response_format ?? model.defaultFormat;
  if (model.formats.includes(format)) return format;
  const message = `response_format must be one that the model ${model.id} writes: ${model.formats.join(', ')}`;
  throw invalidField(message, 'response_format', 'invalid_enum_value');
}

/** OpenAI's name for a choice that this route does not have: the audio comes as bytes, never as events. */
function checkStreamFormat(body: SpeechRequest): void {
  const format = (body as { stream_format?: unknown }).stream_format ?? 'audio';
  if (format === 'audio') return;
  throw invalidField('stream_format must be audio; with streaming the bytes come as they are made.', 'stream_format');
}

/** The voice that a request names, in either form; the model's own for one of OpenAI's names, or for none. */
function voiceOf({ voice }: SpeechRequest, model: SpeechModel): string {
  const name = (typeof voice === 'object' && voice !== null ? voice.id : voice) ?? '';
  if (name === '') return defaultVoice(model);
  return model.voices.includes(name) ? name : (voiceForOpenaiName(name, model.voices) ?? name);
}

/** Throws `INVALID_REQUEST` naming the field that the model cannot fulfil. Null counts as absent. */
export function normalizeSpeech(body: SpeechRequest, model: SpeechModel): NormalizedSpeech {
  checkStreamFormat(body);
  const format = formatOf(body, model);
  const voice = voiceOf(body, model);
  const isHandle = !model.voices.includes(voice) && model.cloning !== null && isVoiceHandle(voice);
  if (!isHandle && !model.voices.includes(voice)) throw unknownVoice(model);
  return {
    payload: {
      text: body.input,
      voice: isHandle ? null : voice,
      sampleId: null,
      speed: body.speed ?? 1,
      language: body.language ?? null,
      format,
    },
    handle: isHandle ? voice : null,
    streaming: body.streaming ?? false,
  };
}
