import { type Clock, errorEntry, PlatformError, type JobUsage } from '#common';
import type { JobEnvelope } from '../contract/job-definition.js';
import { signResult } from '../trust/signing/signed-result.js';
import { backOffMs, pause } from '../contract/store-call.js';
import type {
  JobFailedEvent,
  JobFinishedEvent,
  JobReport,
  JobStartedEvent,
  ReplyWriter,
  JobResult,
  JobResultQueue,
  RunningJob,
} from '../contract/transport.js';

/** One job in this worker's hands, as the queue sees it. */
export interface DeliveredJob<Payload extends object> {
  readonly envelope: JobEnvelope<Payload>;
  /** How often the queue has already failed this job. */
  readonly failedBefore: number;
  readonly attempts: number;
  /** Pools and process id of the worker, as in `JobStartedEvent`. */
  readonly servedBy?: string;
  readonly replies: ReplyWriter;
  readonly progress: (percent: number) => void;
  /** Why the job is not run at all, or null when it is. */
  readonly refusal: PlatformError | null;
  /** True when the queue has given the job to another worker since. */
  isLost(runningMs: number): Promise<boolean>;
}

/** How a delivery ended, for the queue. */
export type DeliveryEnd =
  { kind: 'complete' | 'lost' | 'handed-back' } | { kind: 'failed' | 'retry'; error: PlatformError };

interface Decision {
  status: JobResult['status'];
  error: PlatformError | null;
  usage: JobUsage | null;
  executionMs: number;
  firstTokenMs?: number;
  artifacts?: readonly string[];
}

/** Runs one delivery of a job: handler, then result, then the final event; each exactly once. */
export class JobDelivery<Payload extends object> {
  private readonly abortController = new AbortController();
  private deadline: NodeJS.Timeout | undefined;
  private isStopping = false;

  constructor(
    private readonly job: DeliveredJob<Payload>,
    private readonly results: JobResultQueue,
    private readonly clock: Clock,
  ) {}

  /** Stops the handler; the first reason counts. */
  abort(reason: PlatformError): void {
    if (!this.abortController.signal.aborted) this.abortController.abort(reason);
  }

  /** Stops the handler because its worker stops: a job that may be repeated goes back to the queue. */
  stop(): void {
    this.isStopping = true;
    this.abort(workerStopping());
  }

  async run(handler: (job: RunningJob<Payload>) => Promise<JobReport>): Promise<DeliveryEnd> {
    const startedAtMs = this.clock.monotonicMs();
    const decision = await this.decide(handler, startedAtMs);
    if (await this.job.isLost(this.clock.monotonicMs() - startedAtMs)) return { kind: 'lost' };
    if (decision.status === 'failed' && this.isHandedBack(decision.error)) return { kind: 'handed-back' };
    if (decision.error !== null && decision.status === 'failed' && this.mayRetry(decision.error)) {
      return { kind: 'retry', error: decision.error };
    }
    await this.report(decision);
    this.job.replies.send(finalEvent(decision));
    return decision.status === 'failed' && decision.error !== null
      ? { kind: 'failed', error: decision.error }
      : { kind: 'complete' };
  }

  private async decide(
    handler: (job: RunningJob<Payload>) => Promise<JobReport>,
    startedAtMs: number,
  ): Promise<Decision> {
    const { envelope, replies, progress, refusal, servedBy, failedBefore } = this.job;
    if (refusal !== null) return decisionOf(refusal, null, 0);
    const started: JobStartedEvent = {
      type: 'job-started',
      servedBy,
      ...(failedBefore > 0 && { retries: failedBefore }),
    };
    replies.send(started);
    progress(0);
    this.armDeadline();
    try {
      const report = await handler({ envelope, signal: this.abortController.signal, replies, progress });
      if (!report.cancelled) return { status: 'succeeded', error: null, ...report };
      return { ...decisionOf(this.abortReason(), report.usage, report.executionMs), ...firstTokenOf(report) };
    } catch (error) {
      const executionMs = this.clock.monotonicMs() - startedAtMs;
      const cause = this.abortController.signal.aborted
        ? this.abortReason()
        : PlatformError.from(error, 'INFERENCE_FAILED');
      return decisionOf(cause, null, executionMs);
    } finally {
      clearTimeout(this.deadline);
    }
  }

  private armDeadline(): void {
    const leftMs = this.job.envelope.deadlineAtMs - this.clock.nowMs();
    // Timers hold at most 2^31 ms, and no job runs that long.
    this.deadline = setTimeout(() => this.abort(deadlinePassed()), Math.min(leftMs, 2 ** 31 - 1));
  }

  /** Returns why the handler stopped. A handler that stopped by itself counts as stopped by the caller. */
  private abortReason(): PlatformError {
    const reason: unknown = this.abortController.signal.reason;
    return reason instanceof PlatformError ? reason : cancelledByCaller();
  }

  /**
   * Returns true for a job that its worker hands back because it stops. That uses up no attempt; only the deadline ends
   * a job that is handed back forever.
   */
  private isHandedBack(error: PlatformError | null): boolean {
    return this.isStopping && this.job.attempts > 1 && error === this.abortController.signal.reason;
  }

  private mayRetry(error: PlatformError): boolean {
    const { attempts, failedBefore } = this.job;
    const action = errorEntry(error.code).queue;
    if (action === 'never' || failedBefore + 1 >= attempts) return false;
    return action === 'same-job' || failedBefore === 0;
  }

  /** Reports the result before the job leaves the queue, however long that takes, because the result is money. */
  private async report(decision: Decision): Promise<void> {
    const { status, error, usage, executionMs, artifacts } = decision;
    const { envelope, failedBefore, servedBy } = this.job;
    const result: JobResult = {
      requestId: envelope.requestId,
      attempt: envelope.attempt,
      modality: envelope.modality,
      modelId: envelope.modelId,
      retries: failedBefore,
      status,
      error: error?.toWire() ?? null,
      usage,
      executionMs: Math.round(executionMs),
      ...firstTokenOf(decision),
      ...(artifacts === undefined ? {} : { artifacts }),
      ...(servedBy !== undefined && { reportedBy: servedBy }),
      finishedAtMs: this.clock.nowMs(),
    };
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.results.report(signResult(result, envelope.ticket));
      } catch {
        // The store is unavailable; BullMQ could not complete the job either. The lock decides when it is too late.
        await pause(backOffMs(failures, 2_000));
      }
    }
  }
}

export function cancelledByCaller(): PlatformError {
  return new PlatformError('JOB_CANCELLED', 'The request was cancelled.');
}

export function deadlinePassed(): PlatformError {
  return new PlatformError('REQUEST_TIMEOUT', 'The request was not answered before its deadline.');
}

function workerStopping(): PlatformError {
  return new PlatformError('MODEL_AT_CAPACITY', 'The worker that ran this request is stopping.');
}

export function workerLost(): PlatformError {
  return new PlatformError('DEVICE_LOST', 'The worker that ran this request was lost.');
}

function decisionOf(error: PlatformError, usage: JobUsage | null, executionMs: number): Decision {
  return { status: error.code === 'JOB_CANCELLED' ? 'cancelled' : 'failed', error, usage, executionMs };
}

function firstTokenOf({ firstTokenMs }: Pick<JobReport, 'firstTokenMs'>): Pick<JobReport, 'firstTokenMs'> {
  return firstTokenMs === undefined ? {} : { firstTokenMs };
}

function finalEvent({ status, error, usage }: Decision): JobFinishedEvent | JobFailedEvent {
  if (status === 'succeeded' || error === null) return { type: 'job-finished', usage };
  return { type: 'job-failed', error: error.toWire() };
}
