import type { JobResult } from '#queue';

/** Matches ids and names of Sluice. Any other text could come from a caller, and is never logged. */
const name = /^[\w.:/+-]{1,128}$/;

/** What the log says about a refused result, whatever it is. */
export interface RefusedResult {
  requestId?: string;
  attempt?: number;
  model?: string;
  /** Pools and id of the worker that it claims to be from. */
  worker?: string;
  /** Size as JSON; absent when it has none. */
  bytes?: number;
}

/** Returns what can be read of a refused result and may be logged. Never throws. */
export function describeRefused(result: unknown): RefusedResult {
  const { requestId, attempt, modelId, reportedBy } = (
    typeof result === 'object' && result !== null ? result : {}
  ) as Partial<Record<keyof JobResult, unknown>>;
  const bytes = sizeOf(result);
  return {
    ...(isName(requestId) && { requestId }),
    ...(typeof attempt === 'number' && { attempt }),
    ...(isName(modelId) && { model: modelId }),
    ...(isName(reportedBy) && { worker: reportedBy }),
    ...(bytes !== null && { bytes }),
  };
}

/** Returns true when a text of a result may be logged. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && name.test(value);
}

function sizeOf(result: unknown): number | null {
  try {
    return Buffer.byteLength(JSON.stringify(result) ?? '');
  } catch {
    return null;
  }
}
