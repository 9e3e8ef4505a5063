import type { ModelRequest } from '../pipeline/model-request.js';
import type { InputWork } from './input-work.js';

/** Stored images that a request holds. */
export interface ImagesInput {
  /** The images in order, with the hash of each one's bytes. */
  images: readonly { artifactId: string; sha256: string }[];
  /** Field to name in errors. */
  param: string;
  /** Ms from the start of the job. */
  deadlineMs: number;
}

/** The result holds a text per image, empty where the model found nothing. */
export type ImageDescription = InputWork<string[]>;

/** Maximum length of the text of one image, in characters. */
export const maxDescriptionLength = 4_000;

/**
 * Turns images that requests for other models hold into text. Abstract, because the slice that uses it may not depend on
 * the image slice.
 */
export abstract class ImageDescriber {
  /** `model` comes from `RequestPipeline.openInput`. Rejects with `MODEL_OFFLINE` while no worker serves it. */
  abstract prepare(model: ModelRequest, input: ImagesInput): Promise<ImageDescription>;
}
