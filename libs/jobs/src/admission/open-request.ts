import type { Caller } from '#accounts';
import type { JobDefinition, UsageBounds } from '#queue';
import type { TokenReservation } from '#rate-limit';
import type { NewMediaJob } from '../media/media-job.js';
import type { AbandonedAdmission } from './abandoned-admissions.js';
import type { JobPreparation } from './job-preparation.js';

/** A validated request that is ready to run. */
export interface OpenRequest {
  requestId: string;
  caller: Caller;
  definition: JobDefinition<object, object>;
  modelId: string;
  payload: object;
  /** The most that this payload can use: a result that says more is refused. */
  bounds: UsageBounds;
  /** Ms from now; default: the policy's. */
  deadlineMs?: number;
  /** Reply address of this replica; null for async jobs. */
  replyTo: string | null;
  stream: boolean;
  /** What the rate limit reserved; stored with the row, so that closing the job corrects it. */
  tokenReservation?: TokenReservation | null;
  /** Set for async jobs; `replyTo` is null then. */
  media?: NewMediaJob;
  /**
   * Identifies requests of one conversation: those of one account with the same key go to the same worker while it has
   * capacity. Called only when there is a choice.
   */
  affinity?: () => string;
  /** The only worker that can run it, by its process id; absent: any. */
  onlyWorkerId?: string;
  /** The id in the response's body, if it is not the request id. */
  responseId?: string;
  /** Work between the admission and the queue. `payload` then only stands for what it returns. */
  preparation?: JobPreparation;
  /** Passed to the admission steps without inspection. */
  quote?: unknown;
  /** This replica does the work itself: the row is written, the queue is not used. */
  isDirect?: boolean;
}

/** Names the job of a request for closing it after its client was told that it was not admitted. */
export function abandonedAdmissionOf({ requestId, definition, modelId, deadlineMs }: OpenRequest): AbandonedAdmission {
  const { modality, policy } = definition;
  return { requestId, modality, modelId, deadlineMs: deadlineMs ?? policy.deadlineMs };
}
