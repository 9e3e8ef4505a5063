import { BooleanField, CheckedField, IntegerField, NumberField, TextField } from '#platform/http';

/** A positive whole number, or its digits as a string. */
function SecondsField(): PropertyDecorator {
  return CheckedField({
    name: 'isSeconds',
    description: 'Length in seconds, for models that let callers choose it.',
    schema: {
      anyOf: [
        { type: 'integer', minimum: 0, exclusiveMinimum: true },
        { type: 'string', pattern: String.raw`^\d+$` },
      ],
    },
    check: (value) => (isSeconds(value) ? null : 'must be a whole number above 0, or its digits'),
  });
}

function isSeconds(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && value > 0;
  return typeof value === 'string' && /^\d{1,9}$/.test(value) && Number(value) > 0;
}

/** Same bounds as image seeds. */
export const smallestSeed = -999_999_999;
export const largestSeed = 999_999_999;

/** `POST /audio/quote`. */
export class QuoteAudioRequest {
  @TextField({
    description: 'Model id, trait or alias.',
    required: true,
    minLength: 1,
    maxLength: 256,
    example: 'kokoro-82m',
  })
  model!: string;

  @SecondsField()
  duration_seconds?: number | string;

  @IntegerField({
    description: 'Characters of the prompt; models that cost by the character need it.',
    minimum: 0,
    exclusiveMinimum: true,
    example: 12_000,
  })
  character_count?: number;
}

/** `POST /audio/queue`. */
export class QueueAudioRequest {
  @TextField({
    description: 'Model id, trait or alias.',
    required: true,
    minLength: 1,
    maxLength: 256,
    example: 'kokoro-82m',
  })
  model!: string;

  @TextField({
    description:
      'Voices: the text to speak, up to `prompt_character_limit` (50,000 by default),' +
      'music: a description of the piece (up to 1,000).' +
      'A line of `---` or `***` ends a chapter of a text.',
    required: true,
    minLength: 1,
    example: 'Chapter one.\n\nIt was a quiet morning.\n\n---\n\nChapter two.\n\nThen the rain came.',
  })
  prompt!: string;

  @TextField({ description: 'Lyrics to sing, for models with `supports_lyrics`.' })
  lyrics_prompt?: string;

  @SecondsField()
  duration_seconds?: number | string;

  @BooleanField({ description: 'Instrumental only, for models with `supports_force_instrumental`.' })
  force_instrumental?: boolean;

  @BooleanField({ description: 'Generate the lyrics, for models with `supports_lyrics_optimizer`.' })
  lyrics_optimizer?: boolean;

  @BooleanField({ description: 'Make the end lead seamlessly into the beginning, for models with `supports_loop`.' })
  loop?: boolean;

  @IntegerField({
    description: 'Music only: the same seed produces the same piece; random when absent. An extension of this service.',
    minimum: smallestSeed,
    maximum: largestSeed,
  })
  seed?: number;

  @TextField({
    description: 'One of the model’s `voices`; the first one when absent.',
    maxLength: 512,
    example: 'af_sky',
  })
  voice?: string;

  @TextField({ description: 'Language of the text.', maxLength: 35, example: 'en-GB' })
  language_code?: string;

  @NumberField({ description: 'Speaking rate; 1 is the model’s own.', minimum: 0.25, maximum: 4 })
  speed?: number;
}

class AudioJobName {
  @TextField({ description: 'The model the job was queued with.', required: true, minLength: 1, maxLength: 256 })
  model!: string;

  @TextField({ description: 'As returned by `/audio/queue`.', required: true, minLength: 1, maxLength: 64 })
  queue_id!: string;
}

/** `POST /audio/retrieve`. */
export class RetrieveAudioRequest extends AudioJobName {
  @BooleanField({ description: 'Delete the audio once it has been sent.', default: false })
  delete_media_on_completion?: boolean;
}

/** `POST /audio/complete`. */
export class CompleteAudioRequest extends AudioJobName {}
