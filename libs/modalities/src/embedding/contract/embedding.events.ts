import type { ReplyEvent } from '#queue';

/** Some vectors of the response, in any order; several such events make it complete. */
export interface VectorsReadyEvent extends ReplyEvent {
  type: 'vectors-ready';
  /** Positions of their texts in the request. */
  indexes: number[];
  /** Values per vector. */
  dimensions: number;
  /** The concatenated vectors: little-endian float32 in base64. */
  data: string;
}

export type EmbeddingEvent = VectorsReadyEvent;
