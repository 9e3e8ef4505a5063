import type { Provider } from '@nestjs/common';
import {
  AudioRelays,
  DownloadUrls,
  JobRunner,
  MediaArtifacts,
  ModelResolver,
  QueuedMedia,
  RequestPipeline,
  TextRewriter,
} from '#gateway';
import { MediaTools } from '#media';
import { ImageEditor, ImageGenerator, ImageService } from '#modalities/image/api';
import { VideoService } from '#modalities/video/api';
import { ApiConfig } from '#platform/config';
import type { ApiServices } from './api-services.js';
import { ChatTextRewriter } from './chat-text-rewriter.js';

/** What the routes of the slices are made of. */
export function inferenceProviders(services: ApiServices): Provider[] {
  const { registry, budgets, transport, metrics, config, admission, jobs, replicas, drain, logger } = services;
  const { artifacts, links, media, mediaJobs, egress, prices, limits } = services;
  const models = new ModelResolver(registry, budgets, transport, metrics, config);
  const runner = new JobRunner(admission, jobs, transport, replicas, drain, budgets, logger);
  const pipeline = new RequestPipeline(models, limits.limiter, prices, runner, budgets, config);
  const rewriter = new ChatTextRewriter(models, prices, budgets, runner, config, logger);
  return [
    { provide: RequestPipeline, useValue: pipeline },
    { provide: TextRewriter, useValue: rewriter },
    { provide: QueuedMedia, useValue: new QueuedMedia(pipeline, models, mediaJobs, artifacts, config) },
    { provide: MediaArtifacts, useValue: new MediaArtifacts(artifacts, egress, media) },
    { provide: AudioRelays, useValue: new AudioRelays(artifacts, config) },
    { provide: DownloadUrls, useValue: new DownloadUrls(links, artifacts, config) },
    { provide: MediaTools, useValue: media },
    { provide: ApiConfig, useValue: config },
    ImageService,
    ImageEditor,
    ImageGenerator,
    VideoService,
  ];
}
