import { hostname } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import {
  type HttpExchange,
  type LimitedModelRequest,
  MediaArtifacts,
  type ModelName,
  type ModelRequest,
  replacementHeaders,
  RequestPipeline,
} from '#gateway';
import {
  imageJob,
  type ImageEvent,
  type ImageJobPayload,
  type ImageReadyEvent,
  quoteImages,
} from '../contract/index.js';

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
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(MediaArtifacts) private readonly artifacts: MediaArtifacts,
  ) {}

  /** Returns a served model. Rejects as `RequestPipeline.open` does, and with `MODEL_OFFLINE`. */
  async open(http: HttpExchange, name: ModelName): Promise<ModelRequest> {
    const opened = await this.pipeline.open(http, name);
    void http.reply.headers(replacementHeaders(opened.resolved));
    opened.requireServed();
    return opened;
  }

  /** Runs a job and returns its images. Rejects as `LimitedModelRequest.collect` does. */
  async run({ reply }: HttpExchange, limited: LimitedModelRequest, payload: ImageJobPayload): Promise<FinishedImages> {
    const units = { ...payload.extraUnits, [payload.priceOfImage]: payload.seeds.length };
    const amountNano = quoteImages(units, limited.price.pricing);
    const startedAt = performance.now();
    const order = { definition: imageJob, payload, amountNano };
    const { collected } = await limited.collect(order, () => new ImageCollector());
    const jobMs = performance.now() - startedAt;
    const events = collected.all(payload.seeds.length);
    const images = await Promise.all(
      events.map(async ({ artifactId, blurred }) => ({
        ...(await this.artifacts.takeResult(artifactId, maxResultBytes)),
        blurred,
      })),
    );
    // Set here, so that no route omits them.
    void reply.headers({ ...moderationHeaders(images), 'x-service-control-instance': hostname() });
    return { images, executionMs: events.reduce((sum, event) => sum + event.executionMs, 0), jobMs };
  }
}

/** What image routes say about the images they send. */
function moderationHeaders(images: readonly FinishedImage[]): Record<string, string> {
  return {
    'x-service-is-blurred': String(images.some(({ blurred }) => blurred)),
    // Images are never refused for their content: adult images are blurred. No model here detects the other two.
    'x-service-is-content-violation': 'false',
    'x-service-is-adult-model-content-violation': 'false',
    'x-service-contains-minor': 'false',
  };
}
