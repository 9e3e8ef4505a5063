import type { UsageBounds } from '#queue';

/** What a row stores, encrypted, to enqueue its job again. */
export interface StoredRequest {
  payload: object;
  bounds: UsageBounds;
}
