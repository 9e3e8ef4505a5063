import type { LimitClass } from './limits/limit-table.js';

/* Names of windows. A model id holds no `:`, so that none of them can be another. */

/** Of an account for one model; asking how a job is doing has a window of its own beside running it. */
export function modelWindow(
  { accountId }: { accountId: string },
  { modelId, limitClass }: { modelId: string; limitClass?: LimitClass },
): string {
  return limitClass === 'retrieve' ? `retrieve:${accountId}:${modelId}` : `model:${accountId}:${modelId}`;
}

/** Of an account for what runs no model. */
export const accountWindow = ({ accountId }: { accountId: string }): string => `account:${accountId}`;

export const keyWindow = ({ apiKeyId }: { apiKeyId: string }): string => `key:${apiKeyId}`;

export const installationWindow = 'all';
