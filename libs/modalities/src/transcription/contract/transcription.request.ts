import {
  BooleanField,
  CheckedField,
  ChoiceField,
  NumberField,
  ScalarListField,
  TextField,
  UploadedFile,
} from '#platform/http';

/** `json` and `text` are basic; OpenAI clients also ask for the others. */
export const transcriptionFormats = ['json', 'text', 'verbose_json', 'srt', 'vtt'] as const;
export type TranscriptionFormat = (typeof transcriptionFormats)[number];

/** Maximum size of an uploaded file, in bytes. */
export const maxFileBytes = 25 * 1024 * 1024;

/** The field of the recording. */
export const fileRules = {
  name: 'isFile',
  description: 'The recording, as a file part: wav, flac, m4a, aac, mp4, mp3, ogg or webm, 25 MB at most.',
  required: true,
  schema: { type: 'string', format: 'binary' },
  // An empty file is a recording without audio, a different error than a missing file.
  check: (value: unknown) => (value instanceof UploadedFile ? null : 'must be a file part of the form'),
};

/** Form of `POST /audio/transcriptions`. */
export class TranscriptionRequest {
  @CheckedField(fileRules)
  file!: UploadedFile;

  @TextField({ description: 'Model id, trait or alias; the default model of this kind when absent.', maxLength: 256 })
  model?: string;

  @ChoiceField(transcriptionFormats, { description: 'Format of the response.', default: 'json' })
  response_format?: TranscriptionFormat;

  @BooleanField({ description: 'Whether the response includes timestamps of words and segments.', default: false })
  timestamps?: boolean;

  @TextField({
    description: 'ISO 639-1 code of the spoken language, as a hint. Refused by models that are known not to know it.',
    example: 'en',
    maxLength: 16,
  })
  language?: string;

  @TextField({
    description: 'Text that precedes the recording: names, spelling, style. For models that take one: Whisper.',
    maxLength: 4_096,
  })
  prompt?: string;

  @NumberField({
    description: '0 takes the most likely text, and higher temperatures only as a fall-back.',
    minimum: 0,
    maximum: 1,
    default: 0,
  })
  temperature?: number;

  @ScalarListField('string', {
    description: 'With `verbose_json`: `segment`, `word` or both. Default `segment`.',
    maxItems: 2,
  })
  timestamp_granularities?: string[];

  @BooleanField({
    description: 'Whether the text comes as server-sent events while it is made; for `json` and `text` without times.',
    default: false,
  })
  stream?: boolean;
}
