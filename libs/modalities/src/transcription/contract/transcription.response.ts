import { ApiProperty } from '@nestjs/swagger';

export class TranscribedWord {
  @ApiProperty({ type: 'string', example: 'fellow' }) word!: string;
  @ApiProperty({ type: 'number', description: 'Seconds.', example: 1.34 }) start!: number;
  @ApiProperty({ type: 'number', description: 'Seconds.', example: 1.68 }) end!: number;
}

export class TranscribedSegment {
  @ApiProperty({ type: 'string', example: 'And so my fellow Americans.' }) text!: string;
  @ApiProperty({ type: 'number', description: 'Seconds.', example: 0 }) start!: number;
  @ApiProperty({ type: 'number', description: 'Seconds.', example: 2.28 }) end!: number;
}

export class TranscribedCharacter {
  @ApiProperty({ type: 'string' }) char!: string;
  @ApiProperty({ type: 'number' }) start!: number;
  @ApiProperty({ type: 'number' }) end!: number;
}

export class TranscriptionTimestamps {
  @ApiProperty({ type: () => [TranscribedWord], required: false, description: 'Of models that can tell.' })
  word?: TranscribedWord[];

  @ApiProperty({ type: () => [TranscribedSegment], required: false })
  segment?: TranscribedSegment[];

  @ApiProperty({ type: () => [TranscribedCharacter], required: false, description: 'Of models that can tell.' })
  char?: TranscribedCharacter[];
}

/** One segment of `verbose_json`, in OpenAI's words. */
export class VerboseSegment {
  @ApiProperty({ type: 'integer', example: 0 }) id!: number;
  @ApiProperty({ type: 'integer', description: 'Where its window began, in hundredths of a second.', example: 0 })
  seek!: number;
  @ApiProperty({ type: 'number', description: 'Seconds.', example: 0 }) start!: number;
  @ApiProperty({ type: 'number', description: 'Seconds.', example: 2.28 }) end!: number;
  @ApiProperty({ type: 'string', description: 'With its leading space.', example: ' And so my fellow Americans.' })
  text!: string;
  @ApiProperty({ type: 'integer', isArray: true, description: 'Ids of its tokens.' }) tokens!: number[];
  @ApiProperty({ type: 'number', example: 0 }) temperature!: number;
  @ApiProperty({ type: 'number', description: 'Mean log probability of its tokens.' }) avg_logprob!: number;
  @ApiProperty({ type: 'number', description: 'Length of the text over that of the compressed text.' })
  compression_ratio!: number;
  @ApiProperty({ type: 'number', description: 'Probability that nobody speaks.' }) no_speech_prob!: number;
}

export class TranscriptionUsage {
  @ApiProperty({ type: 'string', enum: ['duration'] }) type!: 'duration';
  @ApiProperty({ type: 'number', example: 3 }) seconds!: number;
}

/** The response as `json` and, with the optional members of OpenAI's form, as `verbose_json`. */
export class TranscriptionResponse {
  @ApiProperty({ type: 'string', example: 'And so my fellow Americans.' })
  text!: string;

  @ApiProperty({ type: 'number', required: false, description: 'Length of the recording in seconds.', example: 2.28 })
  duration?: number;

  @ApiProperty({ type: () => TranscriptionTimestamps, required: false, description: 'With `timestamps`.' })
  timestamps?: TranscriptionTimestamps;

  @ApiProperty({ enum: ['transcribe', 'translate'], required: false, description: 'With `verbose_json`.' })
  task?: 'transcribe' | 'translate';

  @ApiProperty({
    type: 'string',
    required: false,
    description: 'Language of the text, in English; with `verbose_json`.',
    example: 'english',
  })
  language?: string;

  @ApiProperty({ type: () => [VerboseSegment], required: false, description: 'With `verbose_json`.' })
  segments?: VerboseSegment[];

  @ApiProperty({ type: () => [TranscribedWord], required: false, description: 'With `verbose_json` and word times.' })
  words?: TranscribedWord[];

  @ApiProperty({ type: () => TranscriptionUsage, required: false, description: 'With `verbose_json`.' })
  usage?: TranscriptionUsage;
}

/** An event of a streamed transcript. */
export interface TranscriptDelta {
  type: 'transcript.text.delta';
  /** The text that was added. */
  delta: string;
}

/** The last event of a streamed transcript. */
export interface TranscriptDone {
  type: 'transcript.text.done';
  /** The whole text. */
  text: string;
}

/** The answer as `verbose_json`. */
export type VerboseTranscription = Required<
  Pick<TranscriptionResponse, 'task' | 'language' | 'duration' | 'text' | 'usage'>
> &
  Pick<TranscriptionResponse, 'segments' | 'words'>;

/** Response of `POST /video/transcriptions` as `json`. */
export class VideoTranscriptionResponse {
  @ApiProperty({ type: 'string', example: 'And so my fellow Americans.' })
  transcript!: string;

  @ApiProperty({ type: 'string', required: false, description: 'ISO 639-1 code of what was spoken.', example: 'en' })
  lang?: string;
}
