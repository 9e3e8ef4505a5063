import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { noTokens, PlatformError } from '#common';
import {
  type LimitedModelRequest,
  MediaArtifacts,
  type ModelName,
  type ModelRequest,
  replacementHeaders,
  RequestPipeline,
  type StartedJob,
} from '#gateway';
import { ContentPolicy } from '#gateway/moderation';
import { readImageHeader } from '#media';
import type { HttpExchange, StreamedResponse } from '#platform/http';
import {
  imageJob,
  type ImageEvent,
  type ImageJobPayload,
  type ImageReadyEvent,
  maxImagePixels,
  quoteImages,
  unitsOfImages,
} from '../contract/index.js';
import type { ImageCompletedEvent } from '../contract/image.response.js';
import { type FinishedImageEvent, ImageStreamPresenter } from './image-stream.presenter.js';

export interface FinishedImage {
  bytes: Buffer;
  contentType: string;
  blurred: boolean;
}

export interface FinishedImages {
  images: FinishedImage[];
  /** Time in the model over all images, in ms. */
  executionMs: number;
  /** Time from the admission to the last image, in ms. */
  jobMs: number;
}

/** A valid request within its limits, and the job that it asks for. */
export interface PreparedImages {
  limited: LimitedModelRequest;
  payload: ImageJobPayload;
}

const maxResultBytes = 134_217_728;

class ImageCollector {
  private readonly ready = new Map<number, ImageReadyEvent>();

  add(event: ImageEvent): void {
    this.ready.set(event.index, event);
  }

  /** Returns them in the order of the seeds. Throws `INFERENCE_FAILED` if one is missing. */
  all(count: number): ImageReadyEvent[] {
    const events = [...this.ready.values()].toSorted((left, right) => left.index - right.index);
    if (events.length !== count) throw new PlatformError('INFERENCE_FAILED', 'An image is missing.');
    return events;
  }
}

/** Opens the model and runs the job for all image routes. */
@Injectable()
export class ImageService {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly artifacts: MediaArtifacts,
    private readonly policy: ContentPolicy,
  ) {}

  /** Returns a served model. Rejects as `RequestPipeline.open` does, and with `MODEL_OFFLINE`. */
  async open(http: HttpExchange, name: ModelName): Promise<ModelRequest> {
    const opened = await this.pipeline.open(http, name);
    http.setHeaders(replacementHeaders(opened.resolved));
    opened.requireServed();
    return opened;
  }

  /** Checks a prompt before another model rewrites it. Rejects with `CONTENT_POLICY_VIOLATION`. */
  async screen(opened: ModelRequest, payload: ImageJobPayload): Promise<void> {
    const { http } = opened;
    await withViolationHeader(http, opened.screen({ modality: imageJob.modality, payload }));
  }

  /** Runs a job and returns its images. Rejects as `LimitedModelRequest.collect` does. */
  async run(http: HttpExchange, { limited, payload }: PreparedImages): Promise<FinishedImages> {
    const startedAt = performance.now();
    const isScreened = await this.isScreened(payload);
    const collecting = limited.collect(jobSpecOf({ limited, payload }), () => new ImageCollector());
    const { collected } = await withViolationHeader(http, collecting);
    const jobMs = performance.now() - startedAt;
    const events = collected.all(payload.seeds.length);
    const images = await Promise.all(events.map((event) => this.take(event)));
    // Set here, so that no route omits them.
    const { safeMode } = payload;
    http.setHeaders({
      ...moderationHeaders(images, { safeMode, isScreened }),
      'x-service-control-instance': hostname(),
    });
    return { images, executionMs: events.reduce((sum, event) => sum + event.executionMs, 0), jobMs };
  }

  /**
   * Runs a job and returns each image as an event when it is complete. Rejects as `LimitedModelRequest.start` does. Whether an image is blurred is not known when the headers are sent.
   */
  async stream(
    http: HttpExchange,
    { limited, payload }: PreparedImages,
    type: ImageCompletedEvent['type'],
  ): Promise<StreamedResponse> {
    const isScreened = await this.isScreened(payload);
    const starting = limited.start<ImageJobPayload, ImageEvent>(jobSpecOf({ limited, payload }), { stream: true });
    const job = await withViolationHeader(http, starting);
    http.setHeaders({
      ...(isScreened ? { [violationHeader]: 'false' } : {}),
      'x-service-control-instance': hostname(),
    });
    const finished: StartedJob<FinishedImageEvent> = {
      follow: (onEvent, onRepeat) => job.follow(async (event) => onEvent(await this.finish(event)), onRepeat),
    };
    return this.pipeline.stream(finished, new ImageStreamPresenter(type, payload.seeds.length));
  }

  private async isScreened({ prompt }: ImageJobPayload): Promise<boolean> {
    return prompt !== '' && (await this.policy.isActive());
  }

  private async finish(event: ImageReadyEvent): Promise<FinishedImageEvent> {
    const { bytes, contentType } = await this.take(event);
    const { width, height } = await readImageHeader(bytes, { maxPixels: maxImagePixels });
    return { type: 'image-finished', bytes, contentType, width, height };
  }

  private async take({ artifactId, blurred }: ImageReadyEvent): Promise<FinishedImage> {
    return { ...(await this.artifacts.takeResult(artifactId, maxResultBytes)), blurred };
  }
}

function jobSpecOf({ limited, payload }: PreparedImages) {
  const units = unitsOfImages(payload, payload.seeds.length);
  const amountNano = quoteImages(units, limited.price.pricing);
  return { definition: imageJob, payload, bounds: { ...noTokens, units }, amountNano };
}

const violationHeader = 'x-service-is-content-violation';

async function withViolationHeader<Result>({ reply }: HttpExchange, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const isViolation = error instanceof PlatformError && error.code === 'CONTENT_POLICY_VIOLATION';
    if (isViolation) void reply.header(violationHeader, 'true');
    throw error;
  }
}

/**
 * What was checked about the images, and nothing else: safe mode looks at the images, the operator's policy at the
 * prompt. No model here detects what the other two headers of the contract are about, so they are never sent.
 */
function moderationHeaders(
  images: readonly FinishedImage[],
  { safeMode, isScreened }: { safeMode: boolean; isScreened: boolean },
): Record<string, string> {
  return {
    ...(safeMode ? { 'x-service-is-blurred': String(images.some(({ blurred }) => blurred)) } : {}),
    ...(isScreened ? { [violationHeader]: 'false' } : {}),
  };
}
