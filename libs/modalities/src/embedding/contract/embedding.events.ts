import type { ReplyEvent } from '#queue';

/** Some vectors of the answer, in no order; several such events make the whole. */
export interface VectorsReadyEvent extends ReplyEvent {
  type: 'vectors-ready';
  /** Positions of their texts in the request. */
  indexes: number[];
  /** Numbers per vector. */
  dimensions: number;
  /** The vectors one after another: little-endian float32 in base64. */
  data: string;
}

export type EmbeddingEvent = VectorsReadyEvent;
