import { noTokens, PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import { decodePicture, encodePicture, pictureContentTypes, type Pixels } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import type { JobReport, RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import { type ImageJobPayload, mostPicturePixels, type PictureReadyEvent } from '../contract/index.js';
import { makePicture } from './picture-operations.js';
import { checkPicture, safetyModelId } from './safety-check.js';

export interface ImageParts {
  runner: TaskRunner;
  manifest: ModelManifest;
  artifacts: ArtifactStore;
  helper: (modelId: string) => TaskRunner | null;
}

const mostInputBytes = 26_214_400;
/** A result waits for the api for as long as a job may take, and no longer. */
const resultLifetimeMs = 1_200_000;

/** Runs one job: reads its pictures, makes one for each seed, and puts them into the storage. */
export class ImageProcessor {
  constructor(private readonly parts: ImageParts) {}

  /** Rejects with a `PlatformError`; a cancelled job ends well, with the pictures that were made. */
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
      usage: { ...noTokens, units: made === 0 ? {} : { ...payload.extraUnits, [payload.priceOfPicture]: made } },
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
    const { envelope, signal, mailbox } = job;
    const { payload } = envelope;
    const { runner, manifest, helper } = this.parts;
    const id = `${envelope.requestId}-${index}`;
    const picture = await makePicture(
      { payload, inputs, seed, family: manifest.family },
      { runner, id, options: { signal } },
    );
    if (picture === null || signal.aborted) return false;
    const judged = payload.safeMode
      ? await checkPicture(picture, { judge: helper(safetyModelId), id, signal })
      : { picture, blurred: false };
    if (signal.aborted) return false;
    const artifactId = await this.store(judged.picture, payload, { modelId: manifest.id, seed });
    const executionMs = Math.round(performance.now() - startedAt);
    const event: PictureReadyEvent = { type: 'picture-ready', index, artifactId, blurred: judged.blurred, executionMs };
    mailbox.send(event);
    return true;
  }

  private async decode(artifactIds: readonly string[]): Promise<Pixels[]> {
    const pictures: Pixels[] = [];
    for (const id of artifactIds) {
      const { bytes } = await this.parts.artifacts.read(id, mostInputBytes);
      // The api has looked at the header by the bounds of its route; these are the widest of them.
      pictures.push(await decodePicture(bytes, { channels: 4, maxPixels: mostPicturePixels, param: 'image' }));
    }
    return pictures;
  }

  private async store(
    picture: Pixels,
    { format, withExif, prompt, steps }: ImageJobPayload,
    { modelId, seed }: { modelId: string; seed: number },
  ): Promise<string> {
    const exif = { ImageDescription: prompt, Software: `${modelId} (seed ${seed}, steps ${steps})` };
    const bytes = await encodePicture(picture, { format, exif: withExif ? exif : undefined }).catch(
      (cause: unknown) => {
        throw new PlatformError('INFERENCE_FAILED', 'The picture could not be encoded.', null, { cause });
      },
    );
    const { id } = await this.parts.artifacts.put(bytes, {
      kind: 'result',
      contentType: pictureContentTypes[format],
      lifetimeMs: resultLifetimeMs,
    });
    return id;
  }
}
