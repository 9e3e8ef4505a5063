import type { UsageBounds } from './usage-bounds.js';

/**
 * Entitles its holder to report the result of one attempt of one job, within bounds. Admission creates it, and it
 * travels only with the payload.
 */
export interface ResultTicket {
  /** Identifies the key from which the secret was derived. */
  keyId: string;
  bounds: UsageBounds;
  /**
   * Signs the result but is never part of one, so that a reader of a result can neither change it nor report another.
   */
  secret: string;
}

/** The part of its ticket that a result shows. */
export interface ResultProof {
  keyId: string;
  bounds: UsageBounds;
  signature: string;
}
