import type { UsageBounds } from '#queue';

/** What a row stores, encrypted, to enqueue its job again. */
export interface StoredRequest {
  payload: object;
  bounds: UsageBounds;
  /** The worker of `JobEnvelope`, which the job keeps when the queue is lost. */
  onlyWorkerId?: string;
}
