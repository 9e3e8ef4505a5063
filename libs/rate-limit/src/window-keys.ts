import type { LimitClass } from './limits/limit-table.js';

/* Names of windows. A model id holds no `:`, so names cannot collide. */

/** Window of an account for one model; polling a job has a window of its own, separate from running it. */
export function modelWindow(
  { accountId }: { accountId: string },
  { modelId, limitClass }: { modelId: string; limitClass?: LimitClass },
): string {
  return limitClass === 'retrieve' ? `retrieve:${accountId}:${modelId}` : `model:${accountId}:${modelId}`;
}

/** Window of an account for requests that run no model. */
export const accountWindow = ({ accountId }: { accountId: string }): string => `account:${accountId}`;

export const keyWindow = ({ apiKeyId }: { apiKeyId: string }): string => `key:${apiKeyId}`;

export const installationWindow = 'all';

/** Names of windows of a day begin so: a store keeps them for longer. */
export const dayPrefix = 'day:';

/** Requests of an account that replicas have taken in advance; they are counted as tokens, which a window takes many of at once. */
export const advanceWindow = ({ accountId }: { accountId: string }, { modelId }: { modelId: string }): string =>
  `advance:${accountId}:${modelId}`;

/** Requests of an account that run and cost credits. */
export const creditLock = ({ accountId }: { accountId: string }): string => `credits:${accountId}`;

/** Credits of an account in 24 hours. */
export const creditWindow = ({ accountId }: { accountId: string }): string => `${dayPrefix}credits:${accountId}`;
