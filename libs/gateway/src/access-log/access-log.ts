import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorCode, formatNanos, type NanoUsd } from '#common';
import type { Logger } from '#platform/logging';
import type { ChargeLine } from '#model-registry/manifest';
import type { AccessRecord, FinishedJob } from './access-record.js';

/** Number of characters of a key that identify it, as in the list of an account's keys. */
export const keySuffixLength = 6;

/** A request that has ended. Absent members are unknown, or do not apply. */
export interface AccessEntry {
  requestId: string;
  method?: string;
  /** The pattern of the route, never the path of a request. */
  route?: string;
  /** The status as sent; 499 if the client disconnected before one was sent. */
  status: number;
  code?: ErrorCode;
  account?: string | undefined;
  ms?: number;
  /** Address of the client, as the trusted proxies say. */
  client?: string | undefined;
  /** True when the connection closed before the response was complete. */
  aborted?: boolean | undefined;
  headers?: IncomingHttpHeaders;
}

/**
 * Writes one line at `info` for every request. It names ids, routes, models and figures: no bodies, no paths, no
 * queries, no header but the count of the client's retries.
 */
export class AccessLog {
  constructor(
    private readonly logger: Pick<Logger, 'info'>,
    private readonly options: {
      isOn: boolean;
      /** Prices the usage of a job as its settlement does. */
      meter: (job: FinishedJob) => ChargeLine[];
    },
  ) {}

  write({ headers, ...entry }: AccessEntry, record: AccessRecord | null = null): void {
    if (!this.options.isOn) return;
    const { ms, client, aborted, ...head } = entry;
    // Undefined members are not written.
    const fields: Record<string, unknown> = {
      ...head,
      ...(record !== null && this.describe(record)),
      ms: rounded(ms),
      retries: headers === undefined ? undefined : retriesOf(headers),
      client,
      aborted,
    };
    this.logger.info(fields, 'request');
  }

  private describe(record: AccessRecord): Record<string, unknown> {
    const { modelId, keySuffix, errorCode, worker, firstTokenMs, finishedJob } = record;
    const usage = finishedJob?.usage;
    return {
      code: errorCode ?? undefined,
      key: keySuffix ?? undefined,
      model: modelId ?? undefined,
      worker: worker ?? undefined,
      firstTokenMs: rounded(firstTokenMs ?? undefined),
      promptTokens: usage?.promptTokens,
      cachedTokens: usage?.cachedTokens,
      completionTokens: usage?.completionTokens,
      ...this.priceOf(record),
    };
  }

  /**
   * The cost of a job that ended well is what its settlement will charge: the same usage at the same price. The ledger
   * has not settled it yet. For jobs that ended in another way only the ledger decides, and the maximum is known.
   */
  private priceOf({ reservedNano, finishedJob }: AccessRecord): Record<string, string> {
    if (reservedNano === null) return {};
    if (finishedJob === null) return { reservedUsd: exact(reservedNano) };
    const lines = this.options.meter(finishedJob);
    return { costUsd: exact(lines.reduce((sum, { amountNano }) => sum + amountNano, 0n)) };
  }
}

function exact(amount: NanoUsd): string {
  return formatNanos(amount, 9);
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms);
}

/** How often the client has sent this request before, as OpenAI's libraries say. */
function retriesOf(headers: IncomingHttpHeaders): number | undefined {
  const count = headers['x-stainless-retry-count'];
  return typeof count === 'string' && /^\d{1,3}$/.test(count) ? Number(count) : undefined;
}
