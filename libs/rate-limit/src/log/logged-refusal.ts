import type { LimitTier } from '../limits/limit-table.js';

export type RefusalType = 'RPD' | 'RPM' | 'TPM' | 'FAILED_REQUESTS' | 'UNSUPPORTED_FEATURE_REQUESTS';

/** One line of the log that callers read. */
export interface LoggedRefusal {
  accountId: string;
  apiKeyId: string;
  tier: LimitTier;
  /** Empty for requests without a model. */
  modelId: string;
  type: RefusalType;
  /** Ms since the epoch, by the clock of the limit store. */
  atMs: number;
}

/** Lines kept per account. */
export const keptRefusals = 50;
