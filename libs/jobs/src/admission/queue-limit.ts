import { type Clock, PlatformError, systemClock } from '#common';
import type { JobProducer } from '#queue';

/** How long a look at the queue serves, in ms. */
const reuseMs = 100;

/** A place in the queue that an admission holds while its job is on the way there. */
export interface QueuePosition {
  /** The job is in the queue, or will never be: from now on a look at the queue knows it. */
  settle(): void;
}

/** What this process knows of one queue. */
interface View {
  /** What waits, by the last look and by what was let in since. */
  waiting: number;
  atMs: number;
  /** Admissions whose jobs are on the way into the queue. */
  underWay: number;
  /** Admissions since the look now under way began. */
  sinceLook: number;
  looking: Promise<void> | null;
}

/**
 * Refuses jobs of a model whose queue is full. A look at the queue serves for 100 ms, and every admission of this process
 * is counted on top of it, so that the limit is exceeded only by what other replicas let in within that time. At the
 * limit, each request waits for a fresh look, which those that come meanwhile share.
 */
export class QueueLimit {
  private readonly views = new Map<string, View>();

  constructor(
    private readonly producer: Pick<JobProducer, 'counts'>,
    private readonly limit: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Takes a place for one job. Rejects with `MODEL_AT_CAPACITY`, and as the queue does when it cannot be asked. */
  async take(modality: string, modelId: string): Promise<QueuePosition> {
    const view = this.viewOf(`${modality}.${modelId}`);
    if (view.waiting >= this.limit || this.clock.monotonicMs() - view.atMs >= reuseMs) {
      view.looking ??= this.look(view, modality, modelId).finally(() => (view.looking = null));
      await view.looking;
    }
    // No turn of the loop passes between this look and the count: whoever shared the reading counts as well.
    if (view.waiting >= this.limit) {
      throw new PlatformError('MODEL_AT_CAPACITY', 'Too many requests wait for this model. Try again later.', 'model');
    }
    view.waiting += 1;
    view.underWay += 1;
    view.sinceLook += 1;
    return { settle: () => (view.underWay -= 1) };
  }

  private async look(view: View, modality: string, modelId: string): Promise<void> {
    // What is on the way now may or may not be in the answer: counting it twice for a moment errs on the safe side.
    const { underWay } = view;
    view.sinceLook = 0;
    const atMs = this.clock.monotonicMs();
    const { waiting, prioritized, delayed } = await this.producer.counts(modality, modelId);
    view.waiting = waiting + prioritized + delayed + underWay + view.sinceLook;
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
