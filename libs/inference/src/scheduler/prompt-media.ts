/** Positions of a prompt that hold an image instead of text. */
export interface MediaSpan {
  /** First position in the prompt. */
  start: number;
  positions: number;
  /** `[positions, width]`: what the model reads there instead of the embeddings of tokens. */
  embeddings: Float32Array;
}

/** What a prompt holds beside text. All of it is computed before the prompt enters the scheduler. */
export interface PromptMedia {
  /** In order, without overlap. */
  spans: readonly MediaSpan[];
  /**
   * One number per position of the prompt: the token id, or a negative number derived from the image. Prompts share a
   * cached prefix only as far as these are equal.
   */
  keys: Int32Array;
  /** Rotary positions of models that count them in time, height and width; absent: each position is its index. */
  rotary?: RotaryPositions;
}

export interface RotaryPositions {
  /** `[3, positions]`: time, height, width. */
  values: Int32Array;
  /** Added to the index of every position after the prompt. */
  shift: number;
}

/** Positions of a prompt that hold one image each, in order. */
type Spans = readonly MediaSpan[];

/** Where a run of a prompt may end that was to end at `end`: it holds images whole, and something in any case. */
export function wholeMediaEnd(spans: Spans, { start, end }: { start: number; end: number }): number {
  const cut = spanAround(spans, end);
  if (cut === null) return end;
  return cut.start > start ? cut.start : cut.end;
}

/** Returns the length, or where the image begins that a prompt of this length would cut. */
export function wholeMediaStart(spans: Spans, length: number): number {
  return spanAround(spans, length)?.start ?? length;
}

/** The image with positions on both sides; null if there is none. */
function spanAround(spans: Spans, position: number): { start: number; end: number } | null {
  const found = spans.find(({ start, positions }) => start < position && position < start + positions);
  return found === undefined ? null : { start: found.start, end: found.start + found.positions };
}
