import type { NanoUsd } from '#common';

/** What a key has been charged; bundled credits count as USD. */
export interface KeyUsage {
  /** Today and the six days before, in UTC. */
  sevenDaysUsdNano: NanoUsd;
  sevenDaysDiemNano: NanoUsd;
  /** In the window of its limits. */
  periodUsdNano: NanoUsd;
  periodDiemNano: NanoUsd;
}

/** Whoever keeps the money tells what keys have spent; keys it has never heard of are absent. */
export abstract class KeyUsageReader {
  abstract usageOfKeys(keyIds: readonly string[]): Promise<Map<string, KeyUsage>>;
}

export const unused: KeyUsage = {
  sevenDaysUsdNano: 0n,
  sevenDaysDiemNano: 0n,
  periodUsdNano: 0n,
  periodDiemNano: 0n,
};
