import type { JobUsage } from '#common';

/** The most that a job can use, as its payload allows. A job cannot use a unit that is not named. */
export type UsageBounds = Readonly<Pick<JobUsage, 'promptTokens' | 'completionTokens' | 'units'>>;

/**
 * Returns the first field of a reported usage that no job with these bounds can have used, null if there is none. The
 * report may be anything: it comes from another process.
 */
export function findExcess(usage: JobUsage, bounds: UsageBounds): string | null {
  const { cachedTokens, cacheWriteTokens = 0, promptTokens, reasoningTokens, completionTokens, units = {} } = usage;
  const tokens: Record<string, readonly [used: unknown, max: number]> = {
    promptTokens: [promptTokens, bounds.promptTokens],
    completionTokens: [completionTokens, bounds.completionTokens],
    cachedTokens: [cachedTokens, promptTokens],
    cacheWriteTokens: [cacheWriteTokens, promptTokens - cachedTokens],
    reasoningTokens: [reasoningTokens, completionTokens],
  };
  for (const [field, [used, max]] of Object.entries(tokens)) {
    if (!isCount(used, max) || !Number.isInteger(used)) return field;
  }
  if (typeof units !== 'object' || units === null) return 'units';
  const wrong = Object.entries(units).find(([unit, used]) => !isCount(used, maxOf(bounds, unit)));
  return wrong === undefined ? null : `units.${wrong[0]}`;
}

function isCount(used: unknown, max: number): boolean {
  return typeof used === 'number' && used >= 0 && used <= max;
}

/** An unknown unit is refused even with a count of zero, because its name would be stored. */
function maxOf({ units = {} }: UsageBounds, unit: string): number {
  return Object.hasOwn(units, unit) ? (units[unit] ?? -1) : -1;
}
