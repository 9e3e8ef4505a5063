export { createTransport } from './backends/create-transport.js';
export type {
  DesiredPlacements,
  Placement,
  PlacementBus,
  PlacementListeners,
} from './heartbeats/desired-placements.js';
export type {
  ClusterMembership,
  Heartbeat,
  ModelWithoutReplica,
  ServedModelState,
  WorkerHeartbeat,
  WorkerProcess,
} from './heartbeats/heartbeat.js';
export type { FairTurn } from './fairness/fair-order.js';
export { refusalOf } from './jobs/delivery-checks.js';
export { directModality, type JobDefinition, type JobEnvelope, defineJob, toolTimeMs } from './jobs/job-definition.js';
export { JobResultHandler } from './jobs/job-result-handler.js';
export { findExcess, type UsageBounds } from './jobs/usage-bounds.js';
export { type DeliveredJob, JobDelivery, cancelledByCaller, deadlinePassed } from './jobs/job-delivery.js';
export {
  type AffinityDecision,
  type JobAcceptedEvent,
  type JobConsumer,
  type JobFailedEvent,
  type JobFinishedEvent,
  type JobProducer,
  type JobReport,
  type JobResult,
  type JobResultQueue,
  type JobStartedEvent,
  type PendingResults,
  type QueueCounts,
  QueueTransport,
  type ReplyEvent,
  type ReplyStream,
  type ReplyWriter,
  type RunningJob,
  type StickyJobEnd,
} from './transport.js';
