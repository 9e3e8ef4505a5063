import type { JobUsage, NanoUsd } from '#common';
import type { JobResult } from '#queue';

/** One request of a story: what was wanted, and what everybody was told of it. */
export interface SimRequest {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** `async`: nobody waits, only the row counts. */
  readonly kind: 'stream' | 'whole' | 'async';
  /** Tokens that the engine makes of it; more than were quoted, once in a while. */
  readonly tokens: number;
  /** What its caller heard of the admission; null when nothing came, because the api died. */
  admission: 'admitted' | 'refused' | 'unavailable' | null;
  /** What its caller heard at the end. */
  answer: { usage: JobUsage } | { errorCode: string } | null;
  /** The last quote that was tried. */
  quotedNano: NanoUsd;
  /** Outcomes that the queue has taken. */
  readonly reports: JobResult[];
  hasLeft: boolean;
  /** Its api was killed. */
  hasLostApi: boolean;
  /** Somebody has closed its row. */
  isClosed: boolean;
}

export const promptTokens = 3;
export const promptBound = 5;
/** In nano-USD per token. */
export const inputNano = 1_000n;
export const outputNano = 2_000n;

/** The worst case of a request for so many tokens. */
export function quoteNano(maxTokens: number): NanoUsd {
  return BigInt(promptBound) * inputNano + BigInt(maxTokens) * outputNano;
}

export function usageOf(completionTokens: number): JobUsage {
  return { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens: 0 };
}
