import { BooleanField, CheckedField, ChoiceField, NumberField, TextField } from '#platform/http';
import { speechFormats } from './speech.job.js';

/** Maximum length of a text, in characters. */
export const maxInputCharacters = 4_096;

const maxVoiceCharacters = 512;

function voiceProblem(value: unknown): string | null {
  const isObject = typeof value === 'object' && value !== null && 'id' in value;
  const name = isObject ? value.id : value;
  if (typeof name !== 'string') return 'must be a string, or {id} with a string';
  return name.length > maxVoiceCharacters ? `must not be longer than ${maxVoiceCharacters} characters` : null;
}

/** Body of `POST /audio/speech`. */
export class SpeechRequest {
  @TextField({
    description: 'The text to speak.',
    required: true,
    minLength: 1,
    maxLength: maxInputCharacters,
    example: 'The birch canoe slid on the smooth planks.',
  })
  input!: string;

  @TextField({ description: 'Model id, trait or alias; the default voice model when absent.', maxLength: 256 })
  model?: string;

  @CheckedField({
    name: 'isVoice',
    description:
      'A voice of the model (`model_spec.voices`), by its exact name or as `{id}`, or a `vv_…` handle of ' +
      '`POST /audio/voices` made with the same model. OpenAI’s names, such as `alloy`, stand for a voice of the model. ' +
      'Absent: `af_sky` where the model has it, else its first voice.',
    example: 'af_sky',
    schema: {
      anyOf: [
        { type: 'string', maxLength: maxVoiceCharacters },
        {
          type: 'object',
          title: 'voice',
          properties: { id: { type: 'string', maxLength: maxVoiceCharacters } },
          required: ['id'],
        },
      ],
    },
    check: voiceProblem,
  })
  voice?: string | { id: string };

  @ChoiceField(speechFormats, { description: 'Format of the audio. Absent: `model_spec.default_format`.' })
  response_format?: (typeof speechFormats)[number];

  @NumberField({ description: 'Speaking rate; 1 is the model’s own.', minimum: 0.25, maximum: 4, default: 1 })
  speed?: number;

  @BooleanField({ description: 'Send each sentence as soon as it is generated.', default: false })
  streaming?: boolean;

  @TextField({
    description: 'Language of the text, as in `en-GB`. A language the model does not know is ignored.',
    minLength: 2,
    maxLength: 32,
  })
  language?: string;

  @TextField({ description: 'Accepted without effect: no voice takes directions.', maxLength: 500 })
  prompt?: string;

  @NumberField({ description: 'Accepted without effect: no voice samples.', minimum: 0, maximum: 2 })
  temperature?: number;

  @NumberField({ description: 'Accepted without effect: no voice samples.', minimum: 0, maximum: 1 })
  top_p?: number;
}
