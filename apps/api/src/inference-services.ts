import type { PriceList } from '#billing';
import type { Egress } from '#egress';
import {
  applyModelLimit,
  assertModelPrivacy,
  type Drain,
  type InferenceServices,
  type ModelAvailabilityWatcher,
  openaiError,
  regionOf,
  type StoreBudgets,
} from '#gateway';
import type { AdmissionService, JobsService, MediaJobsRepository } from '#jobs';
import type { MediaTools } from '#media';
import type { ModelRegistryService } from '#model-registry';
import type { ApiConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import type { QueueTransport } from '#queue';
import type { RateLimiter } from '#rate-limit';
import type { ArtifactStore, DownloadLinks } from '#storage';
import { rewriteText } from './rewrite-text.js';

/** What the routes of the slices are made of. */
export interface InferenceDependencies {
  config: ApiConfig;
  logger: Logger;
  metrics: Metrics;
  registry: ModelRegistryService;
  prices: PriceList;
  transport: QueueTransport;
  admission: AdmissionService;
  jobs: JobsService;
  replicas: ModelAvailabilityWatcher;
  drain: Drain;
  budgets: StoreBudgets;
  limiter: RateLimiter;
  artifacts: ArtifactStore;
  links: DownloadLinks;
  media: MediaTools;
  mediaJobs: MediaJobsRepository;
  egress: Egress;
}

/** What every slice asks of its process. */
export function inferenceServicesOf(services: InferenceDependencies): InferenceServices {
  const { registry, prices, transport, admission, jobs, replicas, drain, budgets, logger, config } = services;
  const { artifacts, links, media, mediaJobs, egress } = services;
  const missed = missedModels(services.metrics);
  const inference: InferenceServices = {
    resolve: async (name, type, { id, headers, caller }) => {
      const region = regionOf(headers, config.regionHeader);
      const { betaModels: betaAccess } = config;
      const options = { name, type, allowOffline: true, betaAccess, region };
      const resolved = await budgets.of(id).within(registry.resolve(options));
      if (caller !== null) assertModelPrivacy(caller, resolved.manifest);
      if (resolved.offline && !resolved.disabled) {
        missed.setToCurrentTime({ model: resolved.manifest.id });
        // A worker that may hold it, and had no room, makes some.
        transport.placements.miss(resolved.manifest.id);
      }
      return resolved;
    },
    rewrite: (text, options) => rewriteText({ services: inference, site: config.site, logger }, text, options),
    price: (modelId, requestId) => budgets.of(requestId).within(prices.current(modelId)),
    limit: (exchange, demand) => applyModelLimit({ limiter: services.limiter, budgets }, exchange, demand),
    openReplyStream: (requestId) => transport.replies.open(requestId),
    replyTo: () => transport.replies.address,
    admit: (request) => admission.open(request),
    waitedMs: (requestId) => budgets.of(requestId).spentMs,
    markStarted: (requestId) => jobs.markStarted(requestId),
    markEnded: (requestId) => jobs.markEnded(requestId),
    cancel: (requestId) => jobs.cancel(requestId),
    cancelFailed: (requestId, error) => logger.warn({ requestId, error }, 'a job could not be cancelled'),
    errorFrame: (error) => ({ error: openaiError(error), ...(error.issues ? { issues: error.issues } : {}) }),
    watchAvailability: (modelId, patienceMs) => replicas.watch(modelId, patienceMs),
    artifacts,
    mediaJobs,
    downloadUrl: (artifactId, { protocol, host }) =>
      `${config.publicUrl ?? `${protocol}://${host}`}/api/v1/media/${links.tokenFor(artifactId)}`,
    media,
    egress,
    stopping: drain.expired,
    settings: {
      chatDeadlineMs: config.chatDeadlineMs,
      mediaDeadlineMs: config.mediaDeadlineMs,
      storageLifetimeMs: config.storageLifetimeMs,
      keepAliveMs: config.keepAliveMs,
      stalledMs: config.stalledMs,
    },
  };
  return inference;
}

/**
 * Nothing is queued for a model that no worker holds, so its queue never says that a pool at zero is wanted; this does.
 * A time and not a count, because the first step of a new counter is one that no rate shows.
 */
function missedModels(metrics: Metrics) {
  const help = 'When a caller last asked for a model that no worker held, as seconds since 1970.';
  return metrics.gauge('sluice_model_last_unserved_request_timestamp_seconds', help, ['model']);
}
