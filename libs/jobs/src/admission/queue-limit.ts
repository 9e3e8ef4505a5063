import { type Clock, systemClock } from '#common';
import type { FairTurn, JobProducer } from '#queue';
import { refusedByCount, refusedByWait } from './expected-wait.js';

/** How long a reading of the queue stays valid, in ms. */
const reuseMs = 100;

/** A position in the queue that an admission occupies while its job is on the way. */
export interface QueuePosition {
  /** Call when the job is in the queue, or never will be: from then on a reading of the queue includes it. */
  settle(): void;
}

/** One job that wants a position. */
export interface WaitingJob {
  modality: string;
  modelId: string;
  /** The turn that the job takes. Absent: it waits behind all others. */
  turn?: FairTurn;
  /** How long the job may be expected to wait, in ms; default: any time. */
  maxWaitMs?: number;
}

export interface QueueLimitOptions {
  producer: Pick<JobProducer, 'counts' | 'countAhead'>;
  /** Waiting jobs of one queue. */
  limit: number;
  /**
   * Returns how many jobs of a model end per ms, or null when that is not known and only the limit applies. Default:
   * never known.
   */
  rateOf?: (modelId: string) => number | null;
  clock?: Clock;
  /** A random number from 0 to 1. */
  random?: () => number;
}

/** The state of one queue as this process knows it. */
interface View {
  /** Waiting jobs, by the last reading and the admissions since. */
  waiting: number;
  atMs: number;
  /** Admissions whose jobs are on the way into the queue. */
  underWay: number;
  /** Admissions since the current reading began. */
  sinceLook: number;
  looking: Promise<void> | null;
}

/**
 * Refuses jobs of a model whose queue is full, and jobs that would wait for too long: those before them in the order of turns,
 * over the jobs that end per ms. A reading of the queue is valid for 100 ms, and every admission of this
 * process is added to it, so that only admissions of other replicas within that time can exceed the limit. At the
 * limit, each request waits for a fresh reading, which concurrent requests share.
 */
export class QueueLimit {
  private readonly views = new Map<string, View>();

  private readonly clock: Clock;

  constructor(private readonly options: QueueLimitOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /**
   * Occupies a position for one job. Rejects with `MODEL_AT_CAPACITY`, and as the queue does when it cannot be read.
   */
  async take(job: WaitingJob): Promise<QueuePosition> {
    const { modality, modelId } = job;
    const { limit } = this.options;
    const view = this.viewOf(`${modality}.${modelId}`);
    await this.requireShortWait(job, view);
    if (view.waiting >= limit || this.clock.monotonicMs() - view.atMs >= reuseMs) {
      view.looking ??= this.look(view, modality, modelId).finally(() => (view.looking = null));
      await view.looking;
    }
    // No turn of the event loop passes between this reading and the count: everyone who shared the reading is counted.
    if (view.waiting >= limit) {
      const { waiting } = view;
      throw refusedByCount({
        waiting,
        excess: waiting - limit + 1,
        ratePerMs: this.rateOf(modelId),
        random: this.random(),
      });
    }
    view.waiting += 1;
    view.underWay += 1;
    view.sinceLook += 1;
    return { settle: () => (view.underWay -= 1) };
  }

  /** Asks for the position of the job only when the whole queue takes longer than the job may wait. */
  private async requireShortWait({ modality, modelId, turn, maxWaitMs }: WaitingJob, { waiting }: View): Promise<void> {
    const ratePerMs = this.rateOf(modelId);
    if (maxWaitMs === undefined || ratePerMs === null || waiting / ratePerMs <= maxWaitMs) return;
    const ahead = turn === undefined ? waiting : await this.options.producer.countAhead(modality, modelId, turn);
    const waitMs = ahead / ratePerMs;
    if (waitMs <= maxWaitMs) return;
    const excess = ahead - maxWaitMs * ratePerMs;
    throw refusedByWait({ waiting, excess, ratePerMs, random: this.random() }, { waitMs, maxWaitMs });
  }

  private rateOf(modelId: string): number | null {
    return this.options.rateOf?.(modelId) ?? null;
  }

  private random(): number {
    return (this.options.random ?? Math.random)();
  }

  private async look(view: View, modality: string, modelId: string): Promise<void> {
    // Jobs on their way may or may not be in the reading. Counting them twice for a moment errs on the safe side.
    const { underWay } = view;
    view.sinceLook = 0;
    const atMs = this.clock.monotonicMs();
    const { waiting, delayed } = await this.options.producer.counts(modality, modelId);
    view.waiting = waiting + delayed + underWay + view.sinceLook;
    view.atMs = atMs;
  }

  private viewOf(key: string): View {
    const known = this.views.get(key);
    if (known !== undefined) return known;
    const view: View = { waiting: 0, atMs: -Infinity, underWay: 0, sinceLook: 0, looking: null };
    this.views.set(key, view);
    return view;
  }
}
