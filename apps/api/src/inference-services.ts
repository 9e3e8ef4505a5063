import { applyModelLimit, assertModelPrivacy, type InferenceServices, openaiError, regionOf } from '#gateway';
import type { Metrics } from '#platform/metrics';
import type { ApiServices } from './api-services.js';
import { rewriteText } from './rewrite-text.js';

/** What every slice asks of its process. */
export function inferenceServicesOf(services: ApiServices): InferenceServices {
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
    limit: (exchange, demand) => applyModelLimit({ limiter: services.limits.limiter, budgets }, exchange, demand),
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
