import { noTokens, PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import { decodeImage, encodeImage, imageContentTypes, type Pixels } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import type { JobReport, RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import {
  type ImageClassifiedEvent,
  type ImageDescribedEvent,
  type ImageJobPayload,
  maxImagePixels,
  type ImageReadyEvent,
  safetyModelId,
  unitsOfImages,
} from '../contract/index.js';
import { describeImage } from './image-descriptions.js';
import { isGenerator, makeImages, withinPixels } from './image-operations.js';
import { checkImage, classifyImage } from './safety-check.js';

export interface ImageProcessorDependencies {
  runner: TaskRunner;
  manifest: ModelManifest;
  artifacts: ArtifactStore;
  helper: (modelId: string) => TaskRunner | null;
}

/** An image of a batch, and its share of the time of the batch. */
interface MadeImage {
  image: Pixels;
  index: number;
  seed: number;
  sharedMs: number;
}

const maxInputBytes = 26_214_400;
/** Larger images are scaled down before they are described. */
const maxDescribedPixels = 8_294_400;
/** A result waits for the api for as long as a job may take, and no longer. */
const resultLifetimeMs = 1_200_000;

/** Runs one job: reads its input images, generates one image per seed, and stores them. */
export class ImageProcessor {
  constructor(private readonly dependencies: ImageProcessorDependencies) {}

  /** Rejects with a `PlatformError`. A cancelled job resolves, with the finished images. */
  async process(job: RunningJob<ImageJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { payload } = job.envelope;
    const count = await this.run(job);
    return {
      usage: { ...noTokens, units: unitsOfImages(payload, count) },
      cancelled: job.signal.aborted,
      executionMs: Math.round(performance.now() - startedAt),
    };
  }

  private async run(job: RunningJob<ImageJobPayload>): Promise<number> {
    switch (job.envelope.payload.operation) {
      case 'describe':
        return await this.describe(job);
      case 'classify':
        return await this.classify(job);
      default:
        return await this.make(job);
    }
  }

  /** Sends the classes of the first input image. Nothing is billed. */
  private async classify({ envelope, signal, replies }: RunningJob<ImageJobPayload>): Promise<number> {
    const [image] = await this.decode(envelope.payload.inputs.slice(0, 1));
    if (image === undefined) return 0;
    const scores = await classifyImage(image, { runner: this.dependencies.runner, id: envelope.requestId, signal });
    if (scores === null || signal.aborted) return 0;
    const event: ImageClassifiedEvent = { type: 'image-classified', scores };
    replies.send(event);
    return 0;
  }

  /** Returns how many images were finished. */
  private async make(job: RunningJob<ImageJobPayload>): Promise<number> {
    const { payload } = job.envelope;
    const inputs = await this.decode(payload.inputs);
    let count = 0;
    for (const seeds of this.batches(payload)) {
      const finished = await this.makeBatch(job, { inputs, first: count, seeds });
      count += finished;
      if (finished < seeds.length) break;
    }
    return count;
  }

  /** Sends a text per input image; returns how many. One image at a time is in memory. */
  private async describe({ envelope, signal, replies }: RunningJob<ImageJobPayload>): Promise<number> {
    const { runner, manifest, artifacts } = this.dependencies;
    const { family } = manifest;
    for (const [index, artifactId] of envelope.payload.inputs.entries()) {
      const { bytes } = await artifacts.read(artifactId, maxInputBytes);
      const decoded = await decodeImage(bytes, { channels: 3, maxPixels: maxImagePixels, param: 'image' });
      const { width, height, data } = await withinPixels(decoded, maxDescribedPixels);
      const id = `${envelope.requestId}-${index}`;
      const text = await describeImage({ width, height, data }, { family, runner, id, options: { signal } });
      if (text === null || signal.aborted) return index;
      const event: ImageDescribedEvent = { type: 'image-described', index, text };
      replies.send(event);
    }
    return envelope.payload.inputs.length;
  }

  /** Splits the seeds into those of one run of the model: `familyOptions.batch` of them, 1 by default. */
  private *batches({ seeds }: ImageJobPayload): Generator<number[]> {
    const { family, familyOptions } = this.dependencies.manifest;
    const batch = isGenerator({ family }) ? Math.max(1, Math.trunc(Number(familyOptions?.['batch'] ?? 1))) : 1;
    for (let from = 0; from < seeds.length; from += batch) yield seeds.slice(from, from + batch);
  }

  /** Returns the number of stored images: fewer than seeds when the job was cancelled. */
  private async makeBatch(
    job: RunningJob<ImageJobPayload>,
    { inputs, first, seeds }: { inputs: readonly Pixels[]; first: number; seeds: readonly number[] },
  ): Promise<number> {
    const startedAt = performance.now();
    const { envelope, signal } = job;
    const { payload } = envelope;
    const { runner, manifest } = this.dependencies;
    const id = `${envelope.requestId}-${first}`;
    const run = { runner, upscaler: this.upscaler(payload), id, options: { signal } };
    const images = await makeImages({ payload, inputs, seeds, family: manifest.family }, run);
    if (images === null || signal.aborted) return 0;
    const sharedMs = (performance.now() - startedAt) / images.length;
    // Checked and encoded together: both leave cores idle. All end before the job does, whatever happens to one.
    const finished = await Promise.allSettled(
      images.map((image, position) =>
        this.finish(job, { image, index: first + position, seed: seeds[position] ?? 0, sharedMs }),
      ),
    );
    return finished.filter((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    }).length;
  }

  /** Checks, stores and announces an image. False when the job was cancelled. */
  private async finish(
    { envelope, signal, replies }: RunningJob<ImageJobPayload>,
    { image, index, seed, sharedMs }: MadeImage,
  ): Promise<boolean> {
    const startedAt = performance.now();
    const { payload, requestId } = envelope;
    const { manifest, helper } = this.dependencies;
    const judged = payload.safeMode
      ? await checkImage(image, { safetyClassifier: helper(safetyModelId), id: `${requestId}-${index}`, signal })
      : { image, blurred: false };
    if (signal.aborted) return false;
    const artifactId = await this.store(judged.image, payload, { modelId: manifest.id, seed });
    const executionMs = Math.round(sharedMs + performance.now() - startedAt);
    const event: ImageReadyEvent = { type: 'image-ready', index, artifactId, blurred: judged.blurred, executionMs };
    replies.send(event);
    return true;
  }

  /** Throws `MODEL_OFFLINE` while the worker has no upscaler loaded. */
  private upscaler({ drawn }: ImageJobPayload): TaskRunner | null {
    if (drawn === undefined) return null;
    const upscaler = this.dependencies.helper(drawn.upscaler);
    if (upscaler !== null) return upscaler;
    throw new PlatformError(
      'MODEL_OFFLINE',
      `The model ${drawn.upscaler}, which brings images to their size, is not loaded. Try again later.`,
      'model',
    );
  }

  private async decode(artifactIds: readonly string[]): Promise<Pixels[]> {
    const images: Pixels[] = [];
    for (const id of artifactIds) {
      const { bytes } = await this.dependencies.artifacts.read(id, maxInputBytes);
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
    const { id } = await this.dependencies.artifacts.put(bytes, {
      kind: 'result',
      contentType: imageContentTypes[format],
      lifetimeMs: resultLifetimeMs,
    });
    return id;
  }
}
