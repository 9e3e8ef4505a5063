import { CheckedField, ChoiceField, NumberField, TextField, UploadedFile } from '#platform/http';
import { fileRules, type TranscriptionFormat, transcriptionFormats } from './transcription.request.js';

/** Form of `POST /audio/translations`. */
export class TranslationRequest {
  @CheckedField(fileRules)
  file!: UploadedFile;

  @TextField({ description: 'Model id, trait or alias; the default model of this kind when absent.', maxLength: 256 })
  model?: string;

  @ChoiceField(transcriptionFormats, { description: 'Format of the response.', default: 'json' })
  response_format?: TranscriptionFormat;

  @TextField({ description: 'English text that precedes the translation: names, spelling, style.', maxLength: 4_096 })
  prompt?: string;

  @NumberField({
    description: '0 takes the most likely text, and higher temperatures only as a fall-back.',
    minimum: 0,
    maximum: 1,
    default: 0,
  })
  temperature?: number;
}
