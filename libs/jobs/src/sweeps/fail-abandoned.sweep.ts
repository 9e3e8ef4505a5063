import type { Clock } from '#common';
import type { JobDefinition } from '#queue';
import type { JobsRepository, OpenJob } from '../jobs.repository.js';
import { closeDead, type CloseDeadOptions, type Verdict } from './close-dead.js';
import { Sightings } from './sightings.js';
import type { Sweep } from './sweep.js';

export interface FailAbandonedOptions extends CloseDeadOptions {
  jobs: JobsRepository;
  /** Every kind of job, by modality. */
  definitions: ReadonlyMap<string, JobDefinition<object, object>>;
  outcomesFlow: () => boolean;
  /** Age at which a running row is looked at, and for how long it must then be without queue entry or worker; default: 6/10 of the longest lock, each. */
  confirmMs?: number;
  clock?: Clock;
}

const batch = 500;
const abandoned: Verdict = {
  state: 'failed',
  code: 'DEVICE_LOST',
  message: 'The worker that ran this request is gone.',
};

/**
 * Fails running rows that nobody runs: the queue no longer holds the job, or no worker with its model is alive. They are
 * not run again, because the caller may hold half the answer.
 */
export class FailAbandonedSweep implements Sweep {
  readonly name = 'fail-abandoned';
  private readonly sightings: Sightings;
  private readonly confirmMs: number;

  constructor(private readonly options: FailAbandonedOptions) {
    const longestLockMs = Math.max(...[...options.definitions.values()].map(({ policy }) => policy.lockMs));
    // A worker counts as gone after 4 s of silence: with them it is about a lock, after which it may not come back.
    this.confirmMs = options.confirmMs ?? longestLockMs * 0.6;
    this.sightings = new Sightings(this.confirmMs, options.clock);
  }

  async run(): Promise<number> {
    if (!this.options.outcomesFlow()) return 0;
    const running = await this.options.jobs.findRunning(this.confirmMs, batch);
    const alone: OpenJob[] = [];
    for (const job of running) if (await this.isAlone(job)) alone.push(job);
    const confirmed = this.sightings.confirm(alone.map(({ requestId, attempt }) => `${requestId}/${attempt}`));
    let count = 0;
    for (const job of alone) {
      if (!confirmed.has(`${job.requestId}/${job.attempt}`)) continue;
      if (await closeDead(job, abandoned, this.options)) count += 1;
    }
    return count;
  }

  private async isAlone({ modality, modelId, requestId, replyTo }: OpenJob): Promise<boolean> {
    const { transport } = this.options;
    if (!(await transport.producer.holds(modality, modelId, requestId))) return true;
    // Nobody waits for it: the next worker runs it again, and until its deadline nothing is lost.
    if (replyTo === null) return false;
    const hasWorker = transport.presence
      .list()
      .some((beat) => beat.alive && beat.models.some((model) => model.modelId === modelId));
    return !hasWorker;
  }
}
