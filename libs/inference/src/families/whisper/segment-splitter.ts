import type { WhisperTokens } from './whisper.tokens.js';

/** Seconds per timestamp token. */
export const secondsPerTimestamp = 0.02;

/** Tokens between two timestamps; seconds from the start of the window. */
export interface TokenSegment {
  tokens: number[];
  start: number;
  end: number;
}

export interface SplitText {
  segments: TokenSegment[];
  /** End of the transcribed part of the window, in seconds; null for all of it. An unfinished segment starts there. */
  transcribedUntil: number | null;
}

/** Splits the tokens of a window of `duration` seconds at its timestamp pairs, as the reference does. */
export function splitSegments(written: readonly number[], tokens: WhisperTokens, duration: number): SplitText {
  const isTime = (id: number | undefined): boolean => id !== undefined && tokens.isTimestamp(id);
  const secondsOf = (id: number | undefined): number => ((id ?? 0) - tokens.timestampBegin) * secondsPerTimestamp;
  const endsAlone = isTime(written.at(-1)) && !isTime(written.at(-2));
  const cuts = written.flatMap((id, index) => (index > 0 && isTime(id) && isTime(written[index - 1]) ? [index] : []));
  if (cuts.length === 0) {
    const lastTime = written.findLast((id) => tokens.isTimestamp(id));
    const end = lastTime === undefined || lastTime === tokens.timestampBegin ? duration : secondsOf(lastTime);
    return { segments: [{ tokens: [...written], start: 0, end }], transcribedUntil: null };
  }
  if (endsAlone) cuts.push(written.length);
  const segments = cuts.map((cut, index) => {
    const part = written.slice(cuts[index - 1] ?? 0, cut);
    return { tokens: part, start: secondsOf(part[0]), end: secondsOf(part.at(-1)) };
  });
  return { segments, transcribedUntil: endsAlone ? null : secondsOf(written[(cuts.at(-1) ?? 0) - 1]) };
}
