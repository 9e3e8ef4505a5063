import type { LedgerLine } from '#billing';
import { errorEntry, formatNanos, isErrorCode } from '#common';
import type { InspectedJob, RequestRow } from '#jobs/inspection';
import type { RequestDetailResponse, RequestRowResponse } from './requests.response.js';

const decimals = 9;

export function presentRow(row: RequestRow, nowMs: number): RequestRowResponse {
  const { createdAt, startedAt, finishedAt } = row;
  const endMs = finishedAt?.getTime() ?? nowMs;
  const queuedMs = between(createdAt, startedAt?.getTime() ?? endMs);
  return {
    id: row.requestId,
    queueId: row.queueId,
    type: row.modality,
    model: row.modelId,
    key: { id: row.apiKeyId, description: row.keyDescription, last6: row.keyLast6 },
    state: row.state,
    status: statusOf(row),
    errorCode: row.errorCode,
    attempt: row.attempt,
    createdAt: createdAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
    worker: row.worker,
    queuedMs,
    firstTokenMs: row.firstTokenMs === null ? null : queuedMs + row.firstTokenMs,
    executionMs: row.executionMs,
    totalMs: between(createdAt, endMs),
    promptTokens: row.promptTokens,
    cachedTokens: row.cachedTokens,
    completionTokens: row.completionTokens,
    spend: row.chargedNano === null ? null : formatNanos(row.chargedNano, decimals),
  };
}

/** `row` is the same request in the form of the list. */
export function presentDetail(
  row: RequestRow,
  job: InspectedJob,
  entries: readonly LedgerLine[],
  nowMs: number,
): RequestDetailResponse {
  return {
    ...presentRow(row, nowMs),
    stream: job.stream,
    enqueuedAt: job.enqueuedAt.toISOString(),
    startedAt: job.startedAt?.toISOString() ?? null,
    deadlineAt: job.deadlineAt.toISOString(),
    progressPercent: job.media?.progressPercent ?? null,
    attempts: job.results.map(({ attempt, status, isApplied, processedAt }) => {
      return { attempt, status, applied: isApplied, processedAt: processedAt.toISOString() };
    }),
    reservation: job.reservation && {
      state: job.reservation.state,
      reserved: formatNanos(job.reservation.reservedNano, decimals),
      charged: job.reservation.chargedNano === null ? null : formatNanos(job.reservation.chargedNano, decimals),
    },
    entries: entries.map(({ sku, currency, amountNano, createdAt }) => {
      return {
        sku: sku ?? '',
        currency,
        amount: formatNanos(amountNano, decimals),
        createdAt: createdAt.toISOString(),
      };
    }),
  };
}

/** A client that disconnected was sent no status. */
function statusOf({ state, errorCode }: RequestRow): number | null {
  if (state === 'succeeded') return 200;
  return isErrorCode(errorCode) ? errorEntry(errorCode).status : null;
}

/** The clocks of this machine and of the database may differ. */
function between(from: Date, toMs: number): number {
  return Math.max(0, Math.round(toMs - from.getTime()));
}
