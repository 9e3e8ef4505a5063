import type { Clock } from '#common';
import { directModality } from '#queue';
import type { FoundJob, OpenJob } from '../lifecycle/jobs.repository.js';
import { groupsOf } from './group-rows.js';
import { JobRequeuer, type JobRequeuerOptions } from './job-requeuer.js';
import { LookDepth, pagesOf } from './paged-rows.js';
import { repairAll } from './repair-all.js';
import { SuspectTracker } from './suspect-tracker.js';
import { confirmLost } from './confirm-lost.js';
import type { Sweep } from './sweep.js';

export interface RequeueLostOptions extends JobRequeuerOptions {
  /** Age at which a queued row is looked up in the queue. */
  lostAfterMs: number;
  /** How long it must be missing there. */
  confirmMs: number;
  /** True while results are being written; while they wait, an open row proves nothing. */
  resultBacklog: () => Promise<boolean>;
  /** Page size of a read; default: 500. */
  pageRows?: number;
  clock?: Clock;
}

const lookupsAtOnce = 20;

/** Re-enqueues queued rows that the queue has lost (a flushed Redis, an enqueue that died halfway) as a new attempt. */
export class RequeueLostSweep implements Sweep {
  readonly name = 'requeue-lost';
  private readonly suspects: SuspectTracker;
  private readonly depth: LookDepth;
  private readonly requeuer: JobRequeuer;

  constructor(private readonly options: RequeueLostOptions) {
    this.requeuer = new JobRequeuer(options);
    this.suspects = new SuspectTracker(options.confirmMs, options.clock);
    this.depth = new LookDepth(options.clock);
  }

  async run(): Promise<number> {
    const { resultBacklog, logger } = this.options;
    const look = () => this.findMissing();
    const missing = await confirmLost(look, { resultBacklog, suspects: [this.suspects], asksAlways: true });
    const repair = (job: OpenJob) => this.requeuer.requeue(job);
    return repairAll(this.suspects.confirmJobs(missing), { repair, logger });
  }

  private async findMissing(): Promise<OpenJob[]> {
    const { jobs, lostAfterMs, pageRows } = this.options;
    const pages = this.depth.pages(!this.suspects.isEmpty);
    const read = (rows: number, after: FoundJob | null) => jobs.findQueued(lostAfterMs, { rows, after });
    const missing: OpenJob[] = [];
    for await (const page of pagesOf(read, { pages, rows: pageRows })) {
      missing.push(...(await this.missingFromQueue(page)));
    }
    return missing;
  }

  private async missingFromQueue(candidates: OpenJob[]): Promise<OpenJob[]> {
    const missing: OpenJob[] = [];
    // Direct jobs were never in a queue; they end, or expire.
    const queued = candidates.filter(({ modality }) => modality !== directModality);
    for (const some of groupsOf(queued, lookupsAtOnce)) {
      const held = await Promise.all(
        some.map(({ modality, modelId, requestId }) => this.options.producer.holds(modality, modelId, requestId)),
      );
      missing.push(...some.filter((_job, index) => held[index] === false));
    }
    return missing;
  }
}
