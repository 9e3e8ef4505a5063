import { BooleanField, CheckedField, IntegerField, NumberField, TextField } from '#platform/http';

/** A count above zero, or its digits as a text. */
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

/** As those of pictures. */
export const smallestSeed = -999_999_999;
export const largestSeed = 999_999_999;

/** `POST /audio/quote` (contract 7). */
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

/** `POST /audio/queue` (contract 7). */
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
      'What is to be heard: of voices the text, up to `prompt_character_limit` (50,000 where the model says nothing), ' +
      'of music what it is to be like (1,000). ' +
      'A line of `---` or `***` ends a chapter of a text.',
    required: true,
    minLength: 1,
    example: 'Chapter one.\n\nIt was a quiet morning.\n\n---\n\nChapter two.\n\nThen the rain came.',
  })
  prompt!: string;

  @TextField({ description: 'What is to be sung, for models with `supports_lyrics`.' })
  lyrics_prompt?: string;

  @SecondsField()
  duration_seconds?: number | string;

  @BooleanField({ description: 'No singing, for models with `supports_force_instrumental`.' })
  force_instrumental?: boolean;

  @BooleanField({ description: 'Have the lyrics written, for models with `supports_lyrics_optimizer`.' })
  lyrics_optimizer?: boolean;

  @BooleanField({ description: 'An end that goes over into the beginning, for models with `supports_loop`.' })
  loop?: boolean;

  @IntegerField({
    description: 'Of music: the same seed makes the same piece; one of our own when absent. Not in the contract: ours.',
    minimum: smallestSeed,
    maximum: largestSeed,
  })
  seed?: number;

  @TextField({
    description: 'One of `voices` of the model; its first one when absent.',
    maxLength: 512,
    example: 'af_sky',
  })
  voice?: string;

  @TextField({ description: 'What the text is written in.', maxLength: 35, example: 'en-GB' })
  language_code?: string;

  @NumberField({ description: 'Pace; 1 is the model’s own.', minimum: 0.25, maximum: 4 })
  speed?: number;
}

class AudioJobName {
  @TextField({ description: 'The model the job was queued with.', required: true, minLength: 1, maxLength: 256 })
  model!: string;

  @TextField({ description: 'As `/audio/queue` answered it.', required: true, minLength: 1, maxLength: 64 })
  queue_id!: string;
}

/** `POST /audio/retrieve`. */
export class RetrieveAudioRequest extends AudioJobName {
  @BooleanField({ description: 'Delete the sound once it has been sent.', default: false })
  delete_media_on_completion?: boolean;
}

/** `POST /audio/complete`. */
export class CompleteAudioRequest extends AudioJobName {}
