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

/** The response as `json`. */
export class TranscriptionResponse {
  @ApiProperty({ type: 'string', example: 'And so my fellow Americans.' })
  text!: string;

  @ApiProperty({ type: 'number', required: false, description: 'Length of the recording in seconds.', example: 2.28 })
  duration?: number;

  @ApiProperty({ type: () => TranscriptionTimestamps, required: false, description: 'With `timestamps`.' })
  timestamps?: TranscriptionTimestamps;
}

/** One segment of `verbose_json`, in OpenAI's words. */
export interface VerboseSegment {
  id: number;
  /** Where its window began, in hundredths of a second. */
  seek: number;
  start: number;
  end: number;
  /** Includes the leading space. */
  text: string;
  tokens: number[];
  temperature: number;
  avg_logprob: number;
  compression_ratio: number;
  no_speech_prob: number;
}

/** The answer as `verbose_json`, in OpenAI's words. */
export interface VerboseTranscription {
  task: 'transcribe' | 'translate';
  /** Language of the text, in English: `english`. */
  language: string;
  duration: number;
  text: string;
  segments?: VerboseSegment[];
  words?: TranscribedWord[];
  usage: { type: 'duration'; seconds: number };
}

/** Response of `POST /video/transcriptions` as `json`. */
export class VideoTranscriptionResponse {
  @ApiProperty({ type: 'string', example: 'And so my fellow Americans.' })
  transcript!: string;

  @ApiProperty({ type: 'string', required: false, description: 'ISO 639-1 code of what was spoken.', example: 'en' })
  lang?: string;
}
