import type { ModelType } from '#model-registry/manifest';
import type { LimitedModelRequest, ModelRequest } from '../model-request.js';

/** A model that classifies an input of a request. */
export interface CheckModel {
  /** Registry id of an internal model with `classifies`. */
  id: string;
  type: ModelType;
  /** Path of the input, to name in errors. */
  param: string;
}

/** Opens such a model for the request that is checked: `RequestPipeline.openCheck`. */
export type OpenCheck = (model: CheckModel) => Promise<ModelRequest>;

/**
 * Runs a model that classifies texts. Abstract, as `ImageClassifier` is, because the gateway may not depend on the
 * slice.
 */
export abstract class TextClassifier {
  /** Returns the probability of each class per text. Empty texts are not allowed. */
  abstract classify(model: LimitedModelRequest, texts: readonly string[]): Promise<number[][]>;
}

/** Runs the model that classifies images. */
export abstract class ImageClassifier {
  abstract readonly modelId: string;
  /** Returns how probable adult content is in a stored image, and from when it counts. */
  abstract classify(model: LimitedModelRequest, artifactId: string): Promise<{ sexual: number; isFlagged: boolean }>;
}

/** Returns the names of the classes of a model that classifies texts. The first one is harmless. */
export function labelsOf({ manifest }: Pick<ModelRequest, 'manifest'>): string[] {
  return String(manifest.familyOptions?.['labels'] ?? '').split(',');
}
