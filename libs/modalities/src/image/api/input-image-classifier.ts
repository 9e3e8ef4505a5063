import { noTokens, PlatformError } from '#common';
import type { LimitedModelRequest } from '#gateway';
import { ImageClassifier } from '#gateway/moderation';
import {
  adultScore,
  adultThreshold,
  type ImageClassifiedEvent,
  imageJob,
  type ImageJobPayload,
  plainImage,
  safetyModelId,
} from '../contract/index.js';

/** A check that takes longer fails the request. */
const deadlineMs = 60_000;

class Scores {
  value: ImageClassifiedEvent['scores'] | null = null;

  add({ scores }: ImageClassifiedEvent): void {
    this.value = scores;
  }
}

/** Classifies images of inputs with the model that checks images before they leave. */
export class InputImageClassifier extends ImageClassifier {
  readonly modelId = safetyModelId;

  async classify(model: LimitedModelRequest, artifactId: string): Promise<{ sexual: number; isFlagged: boolean }> {
    const payload: ImageJobPayload = { ...plainImage('classify', [artifactId], 0), seeds: [] };
    const jobSpec = { definition: imageJob, payload, bounds: noTokens, amountNano: 0n, deadlineMs };
    const { collected } = await model.collect(jobSpec, () => new Scores());
    if (collected.value === null) throw new PlatformError('INFERENCE_FAILED', 'The classes of an image are missing.');
    const sexual = adultScore(collected.value);
    return { sexual, isFlagged: sexual >= adultThreshold };
  }
}
