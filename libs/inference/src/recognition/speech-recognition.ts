/*
 * Task types of speech recognition. A recording is processed in blocks, one task each. Memory use is that of one block,
 * a cancel waits for at most one block, and other clients get their turn in between. State of earlier blocks is passed
 * along with the next one, so any host can continue.
 */

/** Samples per second of every block. */
export const recognitionSampleRate = 16_000;

/** Length of every block but the last. */
export const recognitionBlockSeconds = 30;

/** Name of the task. */
export const recognitionTask = 'recognize';

export type TimestampDetail = 'none' | 'segment' | 'word';

/** State passed between two blocks of one recording. Small, and opaque to callers. */
export interface RecognitionMemory {
  /** ISO 639-1 once detected; null before. */
  language: string | null;
  /** Last words of a window that was cut during speech; the next window begins with some of them. */
  tail: string[];
}

export interface RecognitionInput {
  /** Mono, −1 to 1, 16 kHz. */
  samples: Float32Array;
  /** This is the last block. */
  isLast: boolean;
  /** ISO 639-1; null to detect it. */
  language: string | null;
  /** Text that precedes the recording: names, spelling, style. */
  prompt: string | null;
  /** 0 to 1. 0 and null take the likeliest text, with higher temperatures only where that fails. */
  temperature: number | null;
  timestamps: TimestampDetail;
  /** True: the text is in English, whatever was spoken. Models that only transcribe refuse it. Absent: false. */
  translate?: boolean;
  /** Memory of the previous block; null for the first. */
  memory: RecognitionMemory | null;
}

/** Seconds from the start of the block. */
export interface RecognizedWord {
  /** With punctuation, trimmed. */
  word: string;
  start: number;
  end: number;
  /** 0 to 1. */
  probability: number;
}

/** Seconds from the start of the block. */
export interface RecognizedSegment {
  /** Includes the leading space in languages with spaces, so joined texts make the whole. */
  text: string;
  start: number;
  end: number;
  /** Null if not requested or not supported by the model. */
  words: RecognizedWord[] | null;
  tokens: number[];
  temperature: number;
  /** Mean natural log-probability of the tokens of the segment's window. */
  avgLogprob: number;
  /** Ratio of text bytes to deflated bytes of the window; above 2.4 the text repeats itself. */
  compressionRatio: number;
  /** Probability that the window contains no speech, 0 to 1. */
  noSpeechProb: number;
}

export interface RecognitionOutput {
  /** Samples processed; the next block begins there. Above 0 except for an empty last block. */
  consumedSamples: number;
  /** True if speech was detected, whether or not it became text. */
  heardSpeech: boolean;
  segments: RecognizedSegment[];
  memory: RecognitionMemory;
}
