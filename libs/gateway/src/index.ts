export { AccountCipher } from './access/account-cipher.js';
export { anthropicError, errorResponse, openaiError } from './errors/error-envelope.js';
export { GatewayModule } from './gateway.module.js';
export { bodyLimitBytes } from './request/body-limits.js';
export { RequestHooks } from './http/request-hooks.js';
export { securityHeaders } from './http/response-headers.js';
export { requireRunFits, type RunDemand } from './limits/run-limit.js';
export { DownloadUrls } from './media/download-urls.js';
export { AudioRelays } from './media/audio-relays.js';
export { MediaArtifacts, type MediaInputReader, type StoredImage } from './media/media-artifacts.js';
export { queuedMediaDocuments } from './media/queued-media.document.js';
export { type MediaTiming, QueuedMedia } from './media/queued-media.js';
export { admitAffordable } from './pipeline/affordable-admission.js';
export { Drain } from './pipeline/drain.js';
export { JobRunner, type StartedJob } from './pipeline/job-runner.js';
export { ClientDisconnectedError, JobStream } from './pipeline/job-stream.js';
export { checkLength, checkOneOf, fieldNotTaken, invalidField, refuseFields } from './request/model-fields.js';
export {
  collectEvents,
  type LimitedModelRequest,
  type ModelRequest,
  type SpecPreparation,
} from './pipeline/model-request.js';
export { ModelResolver } from './pipeline/model-resolver.js';
export { ModelRoute } from './pipeline/model-route.js';
export { deprecationHeaders, replacementHeaders } from './request/request-headers.js';
export { type ModelName, RequestPipeline } from './pipeline/request-pipeline.js';
export { StoreBudgets } from './request/store-budgets.js';
export type { EventPresenter } from './pipeline/stream-events.js';
export { type RewriteOptions, TextRewriter } from './pipeline/text-rewriter.js';
