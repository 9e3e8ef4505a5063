import { type Clock, PlatformError, systemClock } from '#common';
import type { JobProducer } from '#queue';

/** How long a reading of the queue stays valid, in ms. */
const reuseMs = 100;

/** A position in the queue that an admission occupies while its job is on the way. */
export interface QueuePosition {
  /** The job is in the queue, or never will be: from now on a reading of the queue includes it. */
  settle(): void;
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
 * Refuses jobs of a model whose queue is full. A reading of the queue is valid for 100 ms, and every admission of this
 * process is added to it, so that only admissions of other replicas within that time can exceed the limit. At the
 * limit, each request waits for a fresh reading, which concurrent requests share.
 */
export class QueueLimit {
  private readonly views = new Map<string, View>();

  constructor(
    private readonly producer: Pick<JobProducer, 'counts'>,
    private readonly limit: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * Occupies a position for one job. Rejects with `MODEL_AT_CAPACITY`, and as the queue does when it cannot be read.
   */
  async take(modality: string, modelId: string): Promise<QueuePosition> {
    const view = this.viewOf(`${modality}.${modelId}`);
    if (view.waiting >= this.limit || this.clock.monotonicMs() - view.atMs >= reuseMs) {
      view.looking ??= this.look(view, modality, modelId).finally(() => (view.looking = null));
      await view.looking;
    }
    // No turn of the event loop passes between this reading and the count: everyone who shared the reading is counted.
    if (view.waiting >= this.limit) {
      throw new PlatformError('MODEL_AT_CAPACITY', 'Too many requests wait for this model. Try again later.', 'model');
    }
    view.waiting += 1;
    view.underWay += 1;
    view.sinceLook += 1;
    return { settle: () => (view.underWay -= 1) };
  }

  private async look(view: View, modality: string, modelId: string): Promise<void> {
    // What is on the way may or may not be in the reading: counting it twice for a moment errs on the safe side.
    const { underWay } = view;
    view.sinceLook = 0;
    const atMs = this.clock.monotonicMs();
    const { waiting, delayed } = await this.producer.counts(modality, modelId);
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
