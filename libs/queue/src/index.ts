export type { FairTurn } from './contract/fair-turn.js';
export { createTransport } from './transport/create-transport.js';
export type { DesiredPlacements, Placement, PlacementBus, PlacementListeners } from './contract/desired-placements.js';
export type {
  ClusterMembership,
  Heartbeat,
  ModelWithoutReplica,
  ServedModelState,
  WorkerHeartbeat,
  WorkerProcess,
} from './contract/heartbeat.js';
export { refusalOf } from './jobs/delivery-checks.js';
export {
  directModality,
  type JobDefinition,
  type JobEnvelope,
  defineJob,
  toolTimeMs,
} from './contract/job-definition.js';
export { JobResultHandler } from './contract/job-result-handler.js';
export { findExcess, type UsageBounds } from './contract/usage-bounds.js';
export { type DeliveredJob, JobDelivery, cancelledByCaller, deadlinePassed } from './jobs/job-delivery.js';
export {
  type AffinityDecision,
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
} from './contract/transport.js';
