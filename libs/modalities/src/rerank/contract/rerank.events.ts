import type { ReplyEvent } from '#queue';

/** Scores of some of the documents, in any order; several such events make the response complete. */
export interface ScoresReadyEvent extends ReplyEvent {
  type: 'scores-ready';
  /** Positions of their documents in the request. */
  indexes: number[];
  /** From 0 to 1, one per document. */
  scores: number[];
}

export type RerankEvent = ScoresReadyEvent;
