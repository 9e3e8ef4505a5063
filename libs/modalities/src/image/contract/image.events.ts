import type { ReplyEvent } from '#queue';

/** A picture is in the storage. */
export interface ImageReadyEvent extends ReplyEvent {
  type: 'picture-ready';
  /** Which of the request's pictures, from 0. */
  index: number;
  artifactId: string;
  /** It was found to be for adults, and blurred. */
  blurred: boolean;
  /** Ms the model worked on it. */
  executionMs: number;
}

export type ImageEvent = ImageReadyEvent;
