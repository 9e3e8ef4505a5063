/** Tokens of one text request, counted as they were generated. Zero is a count, not a gap. */
export interface TokenUsage {
  promptTokens: number;
  /** Of the prompt, how many were found in a cached prefix. */
  cachedTokens: number;
  completionTokens: number;
  /** Of the completion, how many were reasoning. */
  reasoningTokens: number;
}

/** What one job used. `units` counts what is not tokens, by the names its slice's meter knows: `images`, `characters`… */
export interface JobUsage extends TokenUsage {
  units?: Readonly<Record<string, number>>;
}

export const noTokens: TokenUsage = Object.freeze({
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
});
