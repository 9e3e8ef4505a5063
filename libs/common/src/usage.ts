/** Tokens of one text request, counted as generated. Zero means none, not unknown. */
export interface TokenUsage {
  promptTokens: number;
  /** Prompt tokens found in a cached prefix. */
  cachedTokens: number;
  /** Prompt tokens that were computed for a part of the prompt that is to be cached. Absent: none. */
  cacheWriteTokens?: number;
  completionTokens: number;
  /** Completion tokens that were reasoning. */
  reasoningTokens: number;
}

/**
 * Usage of one job. `units` counts everything besides tokens under the names of the slice's meter: `images`,
 * `characters`…
 */
export interface JobUsage extends TokenUsage {
  units?: Readonly<Record<string, number>>;
}

export const noTokens: TokenUsage = Object.freeze({
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
});
