import type { UsageBounds } from './usage-bounds.js';

/**
 * Entitles its holder to report the result of one attempt of one job, within bounds. Admission makes it; it travels with
 * the payload and nowhere else.
 */
export interface ResultTicket {
  /** Names the key that made it. */
  keyId: string;
  bounds: UsageBounds;
  /** Signs the result, and is never part of one: who reads a result can neither change it nor report another. */
  secret: string;
}

/** What a result shows of its ticket. */
export interface ResultProof {
  keyId: string;
  bounds: UsageBounds;
  signature: string;
}
