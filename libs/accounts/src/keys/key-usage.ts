import type { NanoUsd } from '#common';

/** The charges of a key; bundled credits count as USD. */
export interface KeyUsage {
  /** Today and the six days before, in UTC. */
  sevenDaysUsdNano: NanoUsd;
  sevenDaysDiemNano: NanoUsd;
  /** In the current period of its limits. */
  periodUsdNano: NanoUsd;
  periodDiemNano: NanoUsd;
}

/** Reports what keys have spent; keys without charges are absent. */
export abstract class KeyUsageReader {
  abstract usageOfKeys(keyIds: readonly string[]): Promise<Map<string, KeyUsage>>;
}

export const unused: KeyUsage = {
  sevenDaysUsdNano: 0n,
  sevenDaysDiemNano: 0n,
  periodUsdNano: 0n,
  periodDiemNano: 0n,
};
