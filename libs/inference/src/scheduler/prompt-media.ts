/** Positions of a prompt that hold an image instead of text. */
export interface MediaSpan {
  /** First position in the prompt. */
  start: number;
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
