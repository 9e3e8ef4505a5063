import { assertModelPrivacy, type InferenceServices } from '#jobs';
import type { ApiServices } from './api-services.js';
import { openaiError } from './http/error-envelope.js';
import { regionOf } from './http/caller-region.js';
import { holdToModel } from './http/rate-limit.guard.js';
import { rewriteText } from './rewrite-text.js';

/** What every slice asks of its process. */
export function inferenceServicesOf(services: ApiServices): InferenceServices {
  const { registry, prices, transport, admission, jobs, holders, drain, logger, config } = services;
  const { artifacts, links, media, mediaJobs, egress } = services;
  const inference: InferenceServices = {
    resolve: (name, type, headers) =>
      registry.resolve({
        name,
        type,
        allowOffline: true,
        betaAccess: config.betaModels,
        region: regionOf(headers, config.regionHeader),
      }),
    rewrite: (text, options) => rewriteText({ services: inference, site: config.site, logger }, text, options),
    price: (modelId) => prices.current(modelId),
    limit: (exchange, demand) => holdToModel(services.limits.limiter, exchange, demand),
    openSlot: (requestId) => transport.mailbox.open(requestId),
    replyTo: () => transport.mailbox.address,
    admit: async (request) => {
      // Nearly all keys may call every model, and what they call is not looked up twice.
      const manifest = request.caller.modelPrivacy === 'ALL' ? null : await registry.find(request.modelId);
      if (manifest !== null) assertModelPrivacy(request.caller, manifest);
      return admission.open(request);
    },
    markStarted: (requestId) => jobs.markStarted(requestId),
    markEnded: (requestId) => jobs.markEnded(requestId),
    cancel: (requestId) => jobs.cancel(requestId),
    cancelFailed: (requestId, error) => logger.warn({ requestId, error }, 'a job could not be cancelled'),
    errorFrame: (error) => ({ error: openaiError(error), ...(error.issues ? { issues: error.issues } : {}) }),
    watchHolder: (modelId) => holders.watch(modelId),
    artifacts,
    mediaJobs,
    downloadUrl: (artifactId, { protocol, host }) =>
      `${config.publicUrl ?? `${protocol}://${host}`}/api/v1/media/${links.tokenFor(artifactId)}`,
    media,
    egress,
    stopping: drain.expired,
    settings: {
      chatDeadlineMs: config.chatDeadlineMs,
      keepAliveMs: config.keepAliveMs,
      stalledMs: config.stalledMs,
    },
  };
  return inference;
}
