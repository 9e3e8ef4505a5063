import { BooleanField, ChoiceField, NumberField, TextField } from '#platform/http';
import { speechFormats } from './speech.job.js';

/** Maximum length of a text, in characters. */
export const maxInputCharacters = 4_096;

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

  @TextField({
    description:
      'A voice of the model (`model_spec.voices`), by its exact name, or a `vv_…` handle of `POST /audio/voices` made ' +
      'with the same model. Absent: `af_sky` where the model has it, else its first voice.',
    maxLength: 512,
    example: 'af_sky',
  })
  voice?: string;

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

  @TextField({ description: 'Directions for the delivery; ignored by models that take none.', maxLength: 500 })
  prompt?: string;

  @NumberField({ description: 'Ignored by models that do not sample.', minimum: 0, maximum: 2 })
  temperature?: number;

  @NumberField({ description: 'Ignored by models that do not sample.', minimum: 0, maximum: 1 })
  top_p?: number;
}
