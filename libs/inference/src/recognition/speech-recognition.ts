/*
 * What a slice asks of a family that turns speech into text. A recording is worked off in blocks, one task each: memory
 * is that of a block however long the recording is, a cancel waits for one block at most, and other callers get their
 * turn in between. What must be known of earlier blocks travels with the next one, so any host can go on.
 */

/** Samples per second of every block. */
export const recognitionSampleRate = 16_000;

/** Every block but the last is this long. */
export const recognitionBlockSeconds = 30;

/** Name of the task. */
export const recognitionTask = 'recognize';

export type TimestampDetail = 'none' | 'segment' | 'word';

/** What the families remember between two blocks of one recording. Small, and of no meaning to anybody else. */
export interface RecognitionMemory {
  /** ISO 639-1, once it was heard; null before. */
  language: string | null;
  /** The last words of a window that was cut where somebody spoke: the next one begins with some of them. */
  tail: string[];
}

export interface RecognitionInput {
  /** Mono, −1 to 1, 16 kHz. */
  samples: Float32Array;
  /** Nothing comes after this block. */
  isLast: boolean;
  /** ISO 639-1; null: the model listens for it. */
  language: string | null;
  /** Text that the recording might follow on: names, spelling, style. */
  prompt: string | null;
  /** 0 to 1; 0 and null: the likeliest text, warmer only where that fails. */
  temperature: number | null;
  timestamps: TimestampDetail;
  /** Of the block before; null for the first. */
  memory: RecognitionMemory | null;
}

/** Seconds from the start of the block. */
export interface RecognizedWord {
  /** With its punctuation, without spaces around it. */
  word: string;
  start: number;
  end: number;
  /** 0 to 1. */
  probability: number;
}

/** Seconds from the start of the block. */
export interface RecognizedSegment {
  /** With the space it begins with, where its language has spaces: texts joined as they are make the whole. */
  text: string;
  start: number;
  end: number;
  /** Null where they were not asked for or the model cannot tell them. */
  words: RecognizedWord[] | null;
  tokens: number[];
  temperature: number;
  /** Mean natural log-probability of the tokens of its window. */
  avgLogprob: number;
  /** Bytes of the text of its window over those of its deflated form: above 2.4 it repeats itself. */
  compressionRatio: number;
  /** That nobody spoke in its window, 0 to 1. */
  noSpeechProb: number;
}

export interface RecognitionOutput {
  /** Samples that are done; the next block begins there. Above zero but for an empty last block. */
  consumedSamples: number;
  /** Somebody spoke, whether or not it became text. */
  heardSpeech: boolean;
  segments: RecognizedSegment[];
  memory: RecognitionMemory;
}
