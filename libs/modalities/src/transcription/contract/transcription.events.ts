import type { ReplyEvent } from '#queue';

/** Seconds from the start of the recording. */
export interface TranscriptWord {
  word: string;
  start: number;
  end: number;
}

/** Seconds from the start of the recording. */
export interface TranscriptSegment {
  /** Includes its leading space, where the language has spaces. */
  text: string;
  start: number;
  end: number;
  /** Start of its window. */
  windowStart: number;
  /** Null if not requested or not supported by the model. */
  words: TranscriptWord[] | null;
  tokens: number[];
  temperature: number;
  avgLogprob: number;
  compressionRatio: number;
  noSpeechProb: number;
}

/** The next segments, in order. */
export interface TranscriptPartEvent extends ReplyEvent {
  type: 'transcript-part';
  segments: TranscriptSegment[];
}

/** The recording is done; sent once, before the job ends. */
export interface TranscriptFinishedEvent extends ReplyEvent {
  type: 'transcript-finished';
  /** ISO 639-1; null if the model cannot detect it. */
  language: string | null;
  durationSeconds: number;
}

export type TranscriptionEvent = TranscriptPartEvent | TranscriptFinishedEvent;
