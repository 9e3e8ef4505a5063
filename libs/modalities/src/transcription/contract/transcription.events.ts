import type { ReplyEvent } from '#queue';

/** Seconds from the start of the recording. */
export interface TranscriptWord {
  word: string;
  start: number;
  end: number;
}

/** Seconds from the start of the recording. */
export interface TranscriptSegment {
  /** With the space it begins with, where its language has spaces. */
  text: string;
  start: number;
  end: number;
  /** Where its window began. */
  windowStart: number;
  /** Null where they were not asked for or the model cannot tell them. */
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
  /** ISO 639-1; null where the model cannot tell. */
  language: string | null;
  durationSeconds: number;
}

export type TranscriptionEvent = TranscriptPartEvent | TranscriptFinishedEvent;
