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

/** The text that stands for an image was found. */
export interface ImageDescribedEvent extends ReplyEvent {
  type: 'image-described';
  /** Index of the image in the request, from 0. */
  index: number;
  /** Empty if nothing was found. */
  text: string;
}

/** The classes of an image were found. */
export interface ImageClassifiedEvent extends ReplyEvent {
  type: 'image-classified';
  /** Probability of each class of the model. */
  scores: Record<string, number>;
}

export type ImageEvent = ImageReadyEvent;
