import { noTokens } from '#common';
import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { type JobFailedEvent, type JobResult, QueueTransport } from '#queue';
import { JobsRepository, type OpenJob } from './jobs.repository.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { StartedJobs } from './started-jobs.js';
import { CancelledJobReporter } from './cancelled-job-reporter.js';

/** What an api replica does with the jobs it has admitted. It never closes a row. */
@Injectable()
export class JobsService {
  private readonly started: StartedJobs;
  private readonly cancelledJobs: CancelledJobReporter;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly tickets: ResultTickets,
    private readonly transport: QueueTransport,
    private readonly logger: Logger,
  ) {
    this.cancelledJobs = new CancelledJobReporter({ transport, logger });
    this.started = new StartedJobs((requestIds) => jobs.markRunning(requestIds), logger);
  }

  /**
   * Records that a worker has picked the job up; call it for the `job-started` event. Never throws and never waits: the
   * rows are written in batches, and a lost record only means that a row goes from queued to closed directly.
   */
  markStarted(requestId: string): void {
    this.started.add(requestId);
  }

  /** Drops the record while it is still pending; call it at the job's last event. */
  markEnded(requestId: string): void {
    this.started.remove(requestId);
  }

  /**
   * Ends a job that no client waits for any more. A waiting job is removed from the queue, and its result (cancelled,
   * no usage) is reported here; a running one is told to stop and reports what it has produced. Unknown and closed jobs
   * are left alone. Rejects only when neither queue nor bus can be reached; the deadline covers that case.
   *
   * `message`: an operator cancels it, and a client that waits is told this.
   */
  async cancel(requestId: string, message?: string): Promise<void> {
    const { jobs, transport, logger } = this;
    const job = await jobs.find(requestId).catch((error: unknown) => {
      logger.warn({ requestId, error }, 'the row of a cancelled job cannot be read, cancelling over the bus alone');
      return 'unknown' as const;
    });
    if (job === null || (job !== 'unknown' && job.state !== 'queued' && job.state !== 'running')) return;
    if (job !== 'unknown' && (await this.cancelDelivery(job, message))) return;
    const isWhole = job !== 'unknown' && !job.stream;
    await Promise.all([transport.cancelBus.cancel(requestId), isWhole ? this.withdraw(job) : null]);
  }

  /** Returns the row of a request, or null. */
  async find(requestId: string): Promise<OpenJob | null> {
    return this.jobs.find(requestId);
  }

  /** Writes the pending records. */
  async close(): Promise<void> {
    await this.started.close();
  }

  /** Non-streamed responses survive their worker: without this mark one would be made again for nothing. */
  private async withdraw({ modality, modelId, requestId }: OpenJob): Promise<void> {
    const { transport, logger } = this;
    await transport.producer.withdraw(modality, modelId, requestId).catch((error: unknown) => {
      logger.info({ requestId, error }, 'a cancelled job could not be marked in the queue');
    });
  }

  private async cancelDelivery(job: OpenJob, message?: string): Promise<boolean> {
    const { transport, tickets, logger } = this;
    const { requestId, modality, modelId, attempt } = job;
    const removed = await transport.producer.remove(modality, modelId, requestId).catch((error: unknown) => {
      logger.warn({ requestId, error }, 'a cancelled job could not be removed from the queue');
      return false;
    });
    if (!removed) return false;
    const result: JobResult = {
      requestId,
      attempt,
      modality,
      modelId,
      retries: 0,
      status: 'cancelled',
      error: { code: 'JOB_CANCELLED', message: message ?? 'The client disconnected before the job started.' },
      usage: noTokens,
      executionMs: 0,
      finishedAtMs: Date.now(),
    };
    await this.cancelledJobs.tell(tickets.sign(result, noTokens), job.deadlineAtMs);
    // No worker will: the job is not in the queue any more.
    if (message !== undefined && job.replyTo !== null) {
      const error = { code: 'JOB_CANCELLED', message, param: null } as const;
      transport.replies.writer(job.replyTo, job).send({ type: 'job-failed', error } as JobFailedEvent);
    }
    return true;
  }
}
