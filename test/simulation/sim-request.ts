import type { JobUsage, NanoUsd } from '#common';
import type { JobResult } from '#queue';

/** One request of a scenario: its parameters, and what each side was told. */
export interface SimRequest {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** `async`: nobody waits; only the row counts. */
  readonly kind: 'stream' | 'whole' | 'async';
  /** Tokens that the engine generates; occasionally more than were quoted. */
  readonly tokens: number;
  /** Admission result that the client received; null if none, because the API replica died. */
  admission: 'admitted' | 'refused' | 'unavailable' | null;
  /** Final result that the client received. */
  answer: { usage: JobUsage } | { errorCode: string } | null;
  /** The last quote that was tried. */
  quotedNano: NanoUsd;
  /** Job results that the queue accepted. */
  readonly reports: JobResult[];
  hasLeft: boolean;
  /** Its API replica was killed. */
  hasLostApi: boolean;
  /** Its row was closed. */
  isClosed: boolean;
}

export const promptTokens = 3;
export const promptBound = 5;
/** In nano-USD per token. */
export const inputNano = 1_000n;
export const outputNano = 2_000n;

/** Worst-case cost of a request for so many tokens. */
export function quoteNano(maxTokens: number): NanoUsd {
  return BigInt(promptBound) * inputNano + BigInt(maxTokens) * outputNano;
}

export function usageOf(completionTokens: number): JobUsage {
  return { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens: 0 };
}
