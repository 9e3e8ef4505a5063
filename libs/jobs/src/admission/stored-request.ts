import type { UsageBounds } from '#queue';

/** What a row keeps, encrypted, to enqueue its job again. */
export interface StoredRequest {
  payload: object;
  bounds: UsageBounds;
}
