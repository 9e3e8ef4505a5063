import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, noTokens, PlatformError } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import { AdmissionService } from '../admission/admission.service.js';
import type { OpenRequest } from '../admission/open-request.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import type { JobClosing } from '../lifecycle/job-states.js';
import { directJob } from './direct-job.js';

export interface DirectJobSpec extends Pick<OpenRequest, 'requestId' | 'caller' | 'modelId' | 'bounds' | 'quote'> {
  /** The client's connection. */
  disconnected: AbortSignal;
}

/** What work delivered, and what it is charged for. */
export interface Delivered<Result> {
  result: Result;
  /** Counts by unit, as the meter of direct jobs names them. */
  units: Readonly<Record<string, number>>;
}

export interface DirectReservationDependencies {
  closer: Pick<JobCloser, 'close'>;
  logger: Pick<Logger, 'warn'>;
  /** Between two attempts to close a row, in ms. */
  retryMs?: number;
}

const maxAttempts = 3;

/**
 * Reserves, runs and settles work of this replica. It is charged once if it succeeded and costs nothing otherwise. A
 * replica that dies leaves an open row, which the sweeps expire.
 */
@Injectable()
export class DirectJobs {
  constructor(
    private readonly admission: AdmissionService,
    private readonly closer: JobCloser,
    private readonly logger: Logger,
    @Optional() private readonly retryMs = 200,
  ) {}

  /**
   * Rejects as admission and `work` do, with `REQUEST_TIMEOUT` after the deadline of direct jobs, and with
   * `SERVICE_UNAVAILABLE` if the charge cannot be written; the result is not delivered then.
   */
  async run<Result>(
    { disconnected, ...request }: DirectJobSpec,
    work: (signal: AbortSignal) => Promise<Delivered<Result>>,
  ): Promise<Result> {
    const deadline = AbortSignal.timeout(directJob.policy.deadlineMs);
    const reservation = await this.reserve(request);
    let delivered: Delivered<Result>;
    try {
      delivered = await work(AbortSignal.any([disconnected, deadline]));
      disconnected.throwIfAborted();
    } catch (error) {
      const failure = deadline.aborted && !disconnected.aborted ? tooLate(error) : error;
      await reservation.release(disconnected.aborted ? 'JOB_CANCELLED' : PlatformError.from(failure).code);
      throw failure;
    }
    await reservation.charge(delivered.units, maxAttempts);
    return delivered.result;
  }

  /** Writes the open row of work that is charged or released before the deadline of direct jobs. Rejects as admission does. */
  async reserve(request: Omit<DirectJobSpec, 'disconnected'>): Promise<DirectReservation> {
    const jobSpec = { ...request, definition: directJob, payload: {}, replyTo: null, stream: false, isDirect: true };
    await this.admission.open(jobSpec);
    const { closer, logger, retryMs } = this;
    return new DirectReservation(request.requestId, { closer, logger, retryMs });
  }
}

/** What is reserved for work of this replica. It ends once, charged or released; if it does not, the sweeps release it. */
export class DirectReservation {
  private readonly startedMs = performance.now();

  constructor(
    private readonly requestId: string,
    private readonly dependencies: DirectReservationDependencies,
  ) {}

  /** Rejects with `REQUEST_TIMEOUT` if a sweep was first, and with `SERVICE_UNAVAILABLE` if no attempt was written. */
  async charge(units: Readonly<Record<string, number>>, attempts: number): Promise<void> {
    const { closer, retryMs = 200 } = this.dependencies;
    const closing: JobClosing = { ...this.ending(), ...succeeded, usage: { ...noTokens, units } };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const closed = await closer.close(closing);
        // An attempt that failed may have been written; then this one finds a closed row.
        if (closed === null && attempt === 1) throw tooLate();
        return;
      } catch (error) {
        if (error instanceof PlatformError) throw error;
        if (attempt >= attempts) throw unavailable(error);
        await sleep(retryMs);
      }
    }
  }

  /** Never rejects: the sweeps release what cannot be released now. */
  async release(errorCode: ErrorCode): Promise<void> {
    const state = errorCode === 'JOB_CANCELLED' ? 'cancelled' : 'failed';
    try {
      await this.dependencies.closer.close({ ...this.ending(), state, errorCode, usage: null });
    } catch (error) {
      this.dependencies.logger.warn({ requestId: this.requestId, error }, 'a direct job could not be closed');
    }
  }

  private ending(): Pick<JobClosing, 'requestId' | 'attempt' | 'executionMs'> {
    return { requestId: this.requestId, attempt: 1, executionMs: Math.round(performance.now() - this.startedMs) };
  }
}

const succeeded = { state: 'succeeded', errorCode: null } as const;

function tooLate(cause?: unknown): PlatformError {
  return new PlatformError('REQUEST_TIMEOUT', 'The request was not answered within its deadline.', null, { cause });
}

function unavailable(cause: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot take requests at the moment.', null, { cause });
}
