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
} from './heartbeats/heartbeat.js';
export { refusalOf } from './jobs/delivery-checks.js';
export { type JobDefinition, type JobEnvelope, defineJob, toolTimeMs } from './jobs/job-definition.js';
export { type DeliveredJob, JobDelivery, cancelledByCaller, deadlinePassed } from './jobs/job-delivery.js';
export type {
  AffinityDecision,
  JobConsumer,
  JobFailedEvent,
  JobFinishedEvent,
  JobProducer,
  JobReport,
  JobResult,
  JobResultQueue,
  JobStartedEvent,
  PendingResults,
  QueueCounts,
  QueueTransport,
  ReplyEvent,
  ReplyStream,
  ReplyWriter,
  RunningJob,
  StickyJobEnd,
} from './transport.js';
