import type { ReplyEvent } from '#queue';

/** An image was stored. */
export interface ImageReadyEvent extends ReplyEvent {
  type: 'image-ready';
  /** Index of the image in the request, from 0. */
  index: number;
  artifactId: string;
  /** True: adult content was detected and blurred. */
  blurred: boolean;
  /** Run time of the model, in ms. */
  executionMs: number;
}

export type ImageEvent = ImageReadyEvent;
