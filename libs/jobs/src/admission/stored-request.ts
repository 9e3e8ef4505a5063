import type { UsageBounds } from '#queue';

/** What a row stores, encrypted, to enqueue its job again. */
export interface StoredRequest {
  payload: object;
  bounds: UsageBounds;
  /** As in `JobEnvelope`: the job has this worker after a loss of the queue too. */
  onlyWorkerId?: string;
}
