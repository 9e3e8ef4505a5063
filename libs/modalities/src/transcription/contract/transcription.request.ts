import {
  BooleanField,
  CheckedField,
  ChoiceField,
  NumberField,
  ScalarListField,
  TextField,
  UploadedFile,
} from '#platform/http';

/** `json` and `text` are the contract's; the others are what clients of OpenAI ask for. */
export const transcriptionFormats = ['json', 'text', 'verbose_json', 'srt', 'vtt'] as const;
export type TranscriptionFormat = (typeof transcriptionFormats)[number];

/** Longest file of a form, in bytes (contract 6.2, gap 32). */
export const maxFileBytes = 25 * 1024 * 1024;

/** The form of `POST /audio/transcriptions` (contract 6.2). */
export class TranscriptionRequest {
  @CheckedField({
    name: 'isFile',
    description: 'The recording, as a file part: wav, flac, m4a, aac, mp4, mp3, ogg or webm, 25 MB at most.',
    required: true,
    schema: { type: 'string', format: 'binary' },
    // An empty file is a recording without sound: that is another error than a missing file.
    check: (value) => (value instanceof UploadedFile ? null : 'must be a file part of the form'),
  })
  file!: UploadedFile;

  @TextField({ description: 'Model id, trait or alias; the default model of this kind when absent.', maxLength: 256 })
  model?: string;

  @ChoiceField(transcriptionFormats, { description: 'What the answer is written as.', default: 'json' })
  response_format?: TranscriptionFormat;

  @BooleanField({ description: 'Whether the answer says when words and segments were said.', default: false })
  timestamps?: boolean;

  @TextField({ description: 'ISO 639-1 code of the language spoken, as a hint.', example: 'en', maxLength: 16 })
  language?: string;

  @TextField({ description: 'Text that the recording follows on: names, spelling, style.', maxLength: 4_096 })
  prompt?: string;

  @NumberField({
    description: '0 takes the likeliest text, and warmer ones only where that fails.',
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

  @CheckedField({
    name: 'isBoolean',
    description: 'Answers come whole; true is refused.',
    schema: { type: 'boolean', default: false },
    check: (value) => (value === false ? null : 'must be false: transcriptions are not streamed'),
  })
  stream?: boolean;
}
