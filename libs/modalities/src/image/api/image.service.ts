import { Inject, Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import {
  type HttpExchange,
  type LimitedModelRequest,
  MediaArtifacts,
  type ModelName,
  type ModelRequest,
  RequestPipeline,
} from '#gateway';
import type { ResolvedModel } from '#model-registry';
import {
  imageJob,
  type ImageEvent,
  type ImageJobPayload,
  type ImageReadyEvent,
  quoteImages,
} from '../contract/index.js';
import { moderationHeaders } from './moderation-headers.js';

export interface FinishedImage {
  bytes: Buffer;
  contentType: string;
  blurred: boolean;
}

export interface FinishedImages {
  images: FinishedImage[];
  /** Ms in the model, over all pictures. */
  executionMs: number;
  /** Ms from the admission to the last picture. */
  jobMs: number;
}

const maxResultBytes = 134_217_728;

class ImageCollector {
  private readonly ready = new Map<number, ImageReadyEvent>();

  add(event: ImageEvent): void {
    this.ready.set(event.index, event);
  }

  /** In the order of the seeds. Throws `INFERENCE_FAILED` when some never came. */
  all(count: number): ImageReadyEvent[] {
    const events = [...this.ready.values()].toSorted((left, right) => left.index - right.index);
    if (events.length !== count) throw new PlatformError('INFERENCE_FAILED', 'A picture is missing.');
    return events;
  }
}

/** What all image routes share: the model, and the way from a payload to its pictures. */
@Injectable()
export class ImageService {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(MediaArtifacts) private readonly artifacts: MediaArtifacts,
  ) {}

  /** A model that is served. Rejects as `RequestPipeline.open` does, and with `MODEL_OFFLINE`. */
  async open(http: HttpExchange, name: ModelName): Promise<ModelRequest> {
    const opened = await this.pipeline.open(http, name);
    void http.reply.headers(replacementHeaders(opened.resolved));
    opened.requireServed();
    return opened;
  }

  /** From the quote to the last picture. Rejects as `LimitedModelRequest.collect` does. */
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
    // Here for all routes, so that none leaves them out.
    void reply.headers(moderationHeaders(images));
    return { images, executionMs: events.reduce((sum, event) => sum + event.executionMs, 0), jobMs };
  }
}

/** Image routes name the successor of a deprecated model, too. */
export function replacementHeaders({ manifest, resolvedBy, deprecation }: ResolvedModel): Record<string, string> {
  if (deprecation === null) return {};
  // Once a model is gone, the manifest is that of its successor.
  const replacement = resolvedBy === 'remap' ? manifest.id : manifest.deprecation?.replacementModelId;
  return {
    'x-service-deprecated': 'true',
    ...(replacement === undefined ? {} : { 'x-service-deprecated-replacement': replacement }),
  };
}
