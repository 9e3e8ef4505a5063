import { PlatformError, type StoreBudget } from '#common';
import { Inject, Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { noTracing } from '#platform/tracing';
import type { QueueTransport } from '#queue';
import type { JobCloser } from '../lifecycle/job-closer.js';
import type { AdmissionStep, AdmittedJob } from '../lifecycle/job-states.js';
import type { JobsRepository } from '../lifecycle/jobs.repository.js';
import type { ResultTickets } from '../tickets/result-tickets.js';
import { AbandonedAdmissions } from './abandoned-admissions.js';
import type { AccountTurns } from './account-turns.js';
import { AdmissionMetrics } from './admission.metrics.js';
import { AdmissionWriter } from './admission-writer.js';
import { AmbiguousCommits } from './ambiguous-commits.js';
import { JobEnqueuer } from './job-enqueuer.js';
import type { PreparedJob } from './job-preparation.js';
import { abandonedAdmissionOf, type OpenRequest } from './open-request.js';
import type { PayloadCipher } from './payload-cipher.js';
import { RequestBudgets } from './request-budgets.js';
import { serviceUnavailable, throwUnavailable } from './service-unavailable.js';

/** What an admission without a container needs; see `AdmissionService.of`. */
export interface AdmissionOptions {
  jobs: JobsRepository;
  closer: JobCloser;
  cipher: PayloadCipher;
  tickets: ResultTickets;
  transport: QueueTransport;
  logger: Logger;
  /** Maximum number of waiting jobs per model. */
  queueLimit: number;
  /** Default: jobs of a model run in the order of their arrival. */
  turns?: AccountTurns;
  /** Run in order in the transaction of the row. */
  steps?: readonly AdmissionStep[];
  /** Remaining time that a request may wait for database and queue; default: unlimited. */
  budgetOf?: (requestId: string) => StoreBudget;
  /** Default: a new instance. */
  abandonedAdmissions?: AbandonedAdmissions;
}

/** Admits requests: the row and what the steps add to it in one transaction, then the queue. */
@Injectable()
export class AdmissionService {
  constructor(
    private readonly writer: AdmissionWriter,
    private readonly enqueuer: JobEnqueuer,
    private readonly abandonedAdmissions: AbandonedAdmissions,
    @Inject(RequestBudgets) private readonly budgets: { of(requestId: string): StoreBudget | undefined },
    @Inject(AdmissionMetrics) private readonly metrics: Pick<AdmissionMetrics, 'decided' | 'written'>,
    private readonly logger: Logger,
  ) {}

  /** Composes an admission by hand, without metrics and traces, for tests and benchmarks. */
  static of(options: AdmissionOptions): AdmissionService {
    const { jobs, closer, cipher, tickets, transport, logger, queueLimit, steps = [] } = options;
    const { turns = { turnOf: () => undefined }, budgetOf = () => undefined } = options;
    const abandonedAdmissions = options.abandonedAdmissions ?? new AbandonedAdmissions(jobs, closer, transport, logger);
    const meter = { rateOf: () => null };
    return new AdmissionService(
      new AdmissionWriter(jobs, cipher, { list: steps }, new AmbiguousCommits(abandonedAdmissions)),
      new JobEnqueuer(transport, tickets, turns, meter, noTracing, { queueLimit, maxWaitMs: Infinity }),
      abandonedAdmissions,
      { of: budgetOf },
      { decided: () => undefined, written: () => undefined },
      logger,
    );
  }

  /**
   * Rejects with `MODEL_AT_CAPACITY` when too many jobs wait or it would wait for too long, with the error of a step or
   * of the preparation, and with `SERVICE_UNAVAILABLE` when database or queue do not accept the job; nothing stays open
   * then.
   */
  async open(request: OpenRequest): Promise<AdmittedJob> {
    try {
      const job = await this.admit(request);
      this.metrics.decided(request, 'admitted');
      return job;
    } catch (error) {
      this.metrics.decided(request, PlatformError.from(error).code);
      throw error;
    }
  }

  private async admit(request: OpenRequest): Promise<AdmittedJob> {
    if (request.isDirect === true) return this.insert(request);
    const position = await this.inTime(request, this.enqueuer.takePosition(request), ({ settle }) => settle());
    try {
      const job = await this.insert(request);
      const prepared = await this.prepareOrAbandon(request, job);
      await this.enqueueOrAbandon(request, { ...job, ...prepared });
      return job;
    } finally {
      position.settle();
    }
  }

  private async insert(request: OpenRequest): Promise<AdmittedJob> {
    const job = await this.writer.insert(request, (work) => this.inTime(request, work));
    this.metrics.written(job, request.quote);
    return job;
  }

  private inTime<Result>(
    { requestId }: OpenRequest,
    work: Promise<Result>,
    undo?: (late: Result) => void,
  ): Promise<Result> {
    return this.budgets.of(requestId)?.within(work, undo) ?? work;
  }

  /** No connection of the database is held meanwhile. */
  private async prepareOrAbandon(request: OpenRequest, { deadlineAtMs }: AdmittedJob): Promise<PreparedJob> {
    const { preparation, payload } = request;
    if (preparation === undefined) return { payload, deadlineAtMs };
    try {
      const prepared = await preparation.complete();
      const stored = this.writer.completePreparation(request, prepared).catch(throwUnavailable);
      return await this.inTime(request, stored);
    } catch (error) {
      await this.abandon(request, preparation.disconnected.aborted);
      throw error;
    }
  }

  private async enqueueOrAbandon(request: OpenRequest, job: AdmittedJob & PreparedJob): Promise<void> {
    try {
      await this.inTime(request, this.enqueuer.enqueue(request, job));
    } catch (error) {
      const { requestId, modelId } = job;
      this.logger.warn({ requestId, modelId, error }, 'the queue did not take the job');
      // The queue may have accepted it and lost the acknowledgment: if it runs, its result finds a closed row.
      await this.abandon(request);
      throw serviceUnavailable(error);
    }
  }

  /** Never rejects. */
  private async abandon(request: OpenRequest, isCancelled = false): Promise<void> {
    const closing = this.abandonedAdmissions.close({ ...abandonedAdmissionOf(request), isCancelled });
    await this.inTime(request, closing).catch(() => undefined);
  }
}
