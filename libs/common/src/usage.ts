/** Tokens of one text request, counted as they were generated. Zero is a count, not a gap. */
export interface TokenUsage {
  promptTokens: number;
  /** Of the prompt, how many were found in a cached prefix. */
  cachedTokens: number;
  completionTokens: number;
  /** Of the completion, how many were reasoning. */
  reasoningTokens: number;
}
