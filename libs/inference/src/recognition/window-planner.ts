import type { SpeechSpan } from './speech-spans.js';

/** Decision about a block. All numbers are samples from its start. */
export type WindowPlan =
  /** Silence up to there, or speech from there on that needs more audio. */
  | { kind: 'skip'; consumed: number }
  | {
      kind: 'window';
      start: number;
      end: number;
      /** Where to continue if the window is transcribed to its end. */
      consumed: number;
      /** The window ends during speech, so its last words may be cut. */
      isCut: boolean;
    };

export interface PlanRequest {
  spans: readonly SpeechSpan[];
  /** Length of the block. */
  samples: number;
  isLast: boolean;
  /** Longest window the model takes. */
  maxSamples: number;
}

/** Samples of a silent block that are processed again: a word may begin at its very end. */
const retainedSilence = 8_000;
/** Minimum silence before speech, in samples, for which the block is skipped instead of shortening the window. */
const worthSkipping = 16_000;

/**
 * Chooses the next window of a recording. It starts at the beginning of speech and ends in the last pause that fits.
 * Without a pause in the second half of the window, it cuts the speech.
 */
export function planWindow({ spans, samples, isLast, maxSamples }: PlanRequest): WindowPlan {
  const [first] = spans;
  const last = spans.at(-1);
  if (first === undefined || last === undefined) {
    return { kind: 'skip', consumed: isLast ? samples : Math.max(1, samples - retainedSilence) };
  }
  const { start } = first;
  const limit = start + maxSamples;
  const continues = !isLast && last.end >= samples;
  if (continues && start >= worthSkipping) return { kind: 'skip', consumed: start };
  if (!continues && last.end <= limit) {
    return { kind: 'window', start, end: last.end, consumed: isLast ? samples : last.end, isCut: false };
  }
  const pause = spans.findLast(({ end }) => end <= limit && end < samples && end - start >= maxSamples / 2);
  if (pause !== undefined) return { kind: 'window', start, end: pause.end, consumed: pause.end, isCut: false };
  const end = Math.min(limit, samples);
  return { kind: 'window', start, end, consumed: end, isCut: true };
}
