import type { SpeechSpan } from './speech-spans.js';

/** What to do with a block. All numbers are samples from its start. */
export type WindowPlan =
  /** Nobody speaks up to there, or the speech that begins there needs more of what follows. */
  | { kind: 'skip'; consumed: number }
  | {
      kind: 'window';
      start: number;
      end: number;
      /** Where to go on when the window was heard to its end. */
      consumed: number;
      /** The window ends while somebody speaks: its last words may be cut. */
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

/** Kept of a silent block: a word may begin at its very end. */
const keptSilence = 8_000;
/** Silence before speech that is worth another look at the recording instead of a shorter window. */
const worthSkipping = 16_000;

/**
 * Chooses the next window of a recording: it begins where somebody begins to speak and ends in the last pause that
 * fits, or, where nobody pauses for half a window, in the middle of the speech.
 */
export function planWindow({ spans, samples, isLast, maxSamples }: PlanRequest): WindowPlan {
  const [first] = spans;
  const last = spans.at(-1);
  if (first === undefined || last === undefined) {
    return { kind: 'skip', consumed: isLast ? samples : Math.max(1, samples - keptSilence) };
  }
  const { start } = first;
  const limit = start + maxSamples;
  const goesOn = !isLast && last.end >= samples;
  if (goesOn && start >= worthSkipping) return { kind: 'skip', consumed: start };
  if (!goesOn && last.end <= limit) {
    return { kind: 'window', start, end: last.end, consumed: isLast ? samples : last.end, isCut: false };
  }
  const pause = spans.findLast(({ end }) => end <= limit && end < samples && end - start >= maxSamples / 2);
  if (pause !== undefined) return { kind: 'window', start, end: pause.end, consumed: pause.end, isCut: false };
  const end = Math.min(limit, samples);
  return { kind: 'window', start, end, consumed: end, isCut: true };
}
