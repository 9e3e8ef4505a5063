import type { Clock } from '#common';
import type { FoundJob, OpenJob } from '../lifecycle/jobs.repository.js';
import { closeDead, type CloseDeadOptions, type Decision } from './close-dead.js';
import { groupsOf } from './group-rows.js';
import { JobRequeuer, type JobRequeuerOptions } from './job-requeuer.js';
import { LookDepth, pagesOf } from './paged-rows.js';
import { repairAll } from './repair-all.js';
import { SuspectTracker } from './suspect-tracker.js';
import { confirmLost } from './confirm-lost.js';
import type { Sweep } from './sweep.js';

export interface FailAbandonedOptions extends CloseDeadOptions, Omit<JobRequeuerOptions, 'producer'> {
  /** See `ResultBacklog.flows`. */
  resultBacklog: () => Promise<boolean>;
  /**
   * Age at which a running row is checked, and how long it must then lack a queue entry or a worker; default: 6/10 of
   * the longest lock, each.
   */
  confirmMs?: number;
  /**
   * The same time for a non-streamed job that the queue still holds, which the next worker runs again; default: 45 s.
   */
  comebackMs?: number;
  /** Page size of a read; default: 500. */
  pageRows?: number;
  clock?: Clock;
}

const lookupsAtOnce = 20;
/** Longer than an api waits for such a response: it cancels by itself, and this covers an api that died as well. */
const defaultComebackMs = 45_000;

/**
 * Attempts after which a running job that the queue lost is not run again. A loss is no fault of the job, but a worker whose
 * results do not count would otherwise run one until its deadline.
 */
const maxAttempts = 5;

const abandoned: Decision = {
  state: 'failed',
  code: 'DEVICE_LOST',
  message: 'The worker that ran this request is gone.',
};

/**
 * What a running job lacks: the queue has `forgotten` it, or it is `orphaned`, without any worker that serves its
 * model.
 */
type Loss = 'forgotten' | 'orphaned';

/**
 * Ends running rows that nothing runs: the queue no longer holds the job, or no worker that serves its model is alive. They
 * fail, because the client may hold half the response. Async jobs, whose result nobody has read, are enqueued again.
 */
export class FailAbandonedSweep implements Sweep {
  readonly name = 'fail-abandoned';
  private readonly suspects: SuspectTracker;
  private readonly orphans: SuspectTracker;
  private readonly depth: LookDepth;
  private readonly confirmMs: number;
  private readonly requeuer: JobRequeuer;

  constructor(private readonly options: FailAbandonedOptions) {
    const { definitions, comebackMs = defaultComebackMs, clock } = options;
    this.requeuer = new JobRequeuer({ ...options, producer: options.transport.producer });
    const longestLockMs = Math.max(...[...definitions.values()].map(({ policy }) => policy.lockMs));
    // A worker counts as lost after 4 s of silence; together that is about one lock, after which it may not return.
    this.confirmMs = options.confirmMs ?? longestLockMs * 0.6;
    this.suspects = new SuspectTracker(this.confirmMs, clock);
    this.orphans = new SuspectTracker(comebackMs, clock);
    this.depth = new LookDepth(clock);
  }

  async run(): Promise<number> {
    const { resultBacklog } = this.options;
    const losses = new Map<OpenJob, Loss>();
    const suspects = [this.suspects, this.orphans];
    const lost = await confirmLost(() => this.findLost(losses), { resultBacklog, suspects });
    const isWholeOrphan = (job: OpenJob) => losses.get(job) === 'orphaned' && !job.stream;
    const confirmed = [
      ...this.suspects.confirmJobs(lost.filter((job) => !isWholeOrphan(job))),
      ...this.orphans.confirmJobs(lost.filter(isWholeOrphan)),
    ];
    const repair = (job: OpenJob) =>
      job.replyTo === null && job.attempt < maxAttempts
        ? this.requeuer.requeue(job)
        : closeDead(job, abandoned, this.options);
    return repairAll(confirmed, { repair, logger: this.options.logger });
  }

  private async findLost(losses: Map<OpenJob, Loss>): Promise<OpenJob[]> {
    const { jobs, pageRows } = this.options;
    const pages = this.depth.pages(!this.suspects.isEmpty || !this.orphans.isEmpty);
    const read = (rows: number, after: FoundJob | null) => jobs.findRunning(this.confirmMs, { rows, after });
    for await (const page of pagesOf(read, { pages, rows: pageRows })) {
      for (const some of groupsOf(page, lookupsAtOnce)) await this.noteLosses(some, losses);
    }
    return [...losses.keys()];
  }

  private async noteLosses(candidates: OpenJob[], losses: Map<OpenJob, Loss>): Promise<void> {
    const found = await Promise.all(candidates.map((job) => this.lossOf(job)));
    for (const [place, loss] of found.entries()) {
      const job = candidates[place];
      if (job !== undefined && loss !== null) losses.set(job, loss);
    }
  }

  private async lossOf({ modality, modelId, requestId, replyTo }: OpenJob): Promise<Loss | null> {
    const { transport } = this.options;
    if (!(await transport.producer.holds(modality, modelId, requestId))) return 'forgotten';
    // The next worker runs it again, and nothing is lost until its deadline.
    if (replyTo === null) return null;
    const hasWorker = transport.membership
      .list()
      .some((heartbeat) => heartbeat.alive && heartbeat.models.some((model) => model.modelId === modelId));
    return hasWorker ? null : 'orphaned';
  }
}
