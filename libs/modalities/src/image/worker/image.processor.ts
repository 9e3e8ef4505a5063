import { noTokens, PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import { decodeImage, encodeImage, imageContentTypes, type Pixels } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import type { JobReport, RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import { type ImageJobPayload, maxImagePixels, type ImageReadyEvent } from '../contract/index.js';
import { makeImage } from './image-operations.js';
import { checkImage, safetyModelId } from './safety-check.js';

export interface ImageProcessorDependencies {
  runner: TaskRunner;
  manifest: ModelManifest;
  artifacts: ArtifactStore;
  helper: (modelId: string) => TaskRunner | null;
}

const maxInputBytes = 26_214_400;
/** A result waits for the api for as long as a job may take, and no longer. */
const resultLifetimeMs = 1_200_000;

/** Runs one job: reads its input images, generates one image per seed, and stores them. */
export class ImageProcessor {
  constructor(private readonly parts: ImageProcessorDependencies) {}

  /** Rejects with a `PlatformError`. A cancelled job resolves, with the finished images. */
  async process(job: RunningJob<ImageJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { payload } = job.envelope;
    const inputs = await this.decode(payload.inputs);
    let made = 0;
    for (const [index, seed] of payload.seeds.entries()) {
      if (!(await this.makeOne(job, { inputs, index, seed }))) break;
      made++;
    }
    return {
      usage: { ...noTokens, units: made === 0 ? {} : { ...payload.extraUnits, [payload.priceOfImage]: made } },
      cancelled: job.signal.aborted,
      executionMs: Math.round(performance.now() - startedAt),
    };
  }

  /** False when the job was cancelled. */
  private async makeOne(
    job: RunningJob<ImageJobPayload>,
    { inputs, index, seed }: { inputs: readonly Pixels[]; index: number; seed: number },
  ): Promise<boolean> {
    const startedAt = performance.now();
    const { envelope, signal, replies } = job;
    const { payload } = envelope;
    const { runner, manifest, helper } = this.parts;
    const id = `${envelope.requestId}-${index}`;
    const image = await makeImage(
      { payload, inputs, seed, family: manifest.family },
      { runner, id, options: { signal } },
    );
    if (image === null || signal.aborted) return false;
    const judged = payload.safeMode
      ? await checkImage(image, { safetyClassifier: helper(safetyModelId), id, signal })
      : { image, blurred: false };
    if (signal.aborted) return false;
    const artifactId = await this.store(judged.image, payload, { modelId: manifest.id, seed });
    const executionMs = Math.round(performance.now() - startedAt);
    const event: ImageReadyEvent = { type: 'image-ready', index, artifactId, blurred: judged.blurred, executionMs };
    replies.send(event);
    return true;
  }

  private async decode(artifactIds: readonly string[]): Promise<Pixels[]> {
    const images: Pixels[] = [];
    for (const id of artifactIds) {
      const { bytes } = await this.parts.artifacts.read(id, maxInputBytes);
      // The api checked the header against the limits of its route; these are the widest of them.
      images.push(await decodeImage(bytes, { channels: 4, maxPixels: maxImagePixels, param: 'image' }));
    }
    return images;
  }

  private async store(
    image: Pixels,
    { format, withExif, prompt, steps }: ImageJobPayload,
    { modelId, seed }: { modelId: string; seed: number },
  ): Promise<string> {
    const exif = { ImageDescription: prompt, Software: `${modelId} (seed ${seed}, steps ${steps})` };
    const bytes = await encodeImage(image, { format, exif: withExif ? exif : undefined }).catch((cause: unknown) => {
      throw new PlatformError('INFERENCE_FAILED', 'The image could not be encoded.', null, { cause });
    });
    const { id } = await this.parts.artifacts.put(bytes, {
      kind: 'result',
      contentType: imageContentTypes[format],
      lifetimeMs: resultLifetimeMs,
    });
    return id;
  }
}
