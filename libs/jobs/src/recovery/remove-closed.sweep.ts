import { type Clock, systemClock } from '#common';
import type { Logger } from '#platform/logging';
import type { JobProducer } from '#queue';
import type { JobsRepository } from '../lifecycle/jobs.repository.js';
import { repairAll } from './repair-all.js';
import { SuspectTracker } from './suspect-tracker.js';
import type { Sweep } from './sweep.js';

/** A queue of jobs. */
export interface QueueOfModel {
  modality: string;
  modelId: string;
}

export interface RemoveClosedOptions {
  jobs: Pick<JobsRepository, 'countOpen' | 'selectOpen'>;
  producer: Pick<JobProducer, 'counts' | 'listWaiting' | 'remove'>;
  /** The queues of all models, in addition to those with open rows. */
  queues: () => Promise<readonly QueueOfModel[]>;
  logger: Pick<Logger, 'warn'>;
  /** How long an entry must lack an open row. */
  confirmMs: number;
  /** Pause between two looks while nothing appears wrong, in ms; default: 30 s. */
  everyMs?: number;
  clock?: Clock;
}

interface Entry extends QueueOfModel {
  requestId: string;
}

const defaultEveryMs = 30_000;

/** Entries of one queue that are compared in one run; the next run continues with what is left. */
const maxEntries = 2_000;
const pageEntries = 500;

/**
 * Removes waiting entries of a queue whose rows are closed. A queue that lost its newest changes has them again: workers
 * would run such jobs for nothing, and alerts and autoscalers would count them. Rows are written before their entries, so an
 * entry without an open row is never a new one. Looks only where more entries wait than rows are open.
 */
export class RemoveClosedSweep implements Sweep {
  readonly name = 'remove-closed';
  private readonly suspects: SuspectTracker;
  private readonly clock: Clock;
  private lookedAtMs = -Infinity;

  constructor(private readonly options: RemoveClosedOptions) {
    this.clock = options.clock ?? systemClock;
    this.suspects = new SuspectTracker(options.confirmMs, this.clock);
  }

  async run(): Promise<number> {
    const { logger, everyMs = defaultEveryMs } = this.options;
    const nowMs = this.clock.monotonicMs();
    if (this.suspects.isEmpty && nowMs - this.lookedAtMs < everyMs) return 0;
    this.lookedAtMs = nowMs;
    const closed = await this.findClosed().catch((error: unknown) => {
      this.suspects.forget();
      throw error;
    });
    const confirmed = this.suspects.confirm(closed.map(keyOf));
    const removed = await repairAll(
      closed.filter((entry) => confirmed.has(keyOf(entry))),
      {
        repair: ({ modality, modelId, requestId }) => this.options.producer.remove(modality, modelId, requestId),
        logger,
      },
    );
    if (removed > 0) logger.warn({ removed }, 'jobs that had ended waited in the queue, they were removed');
    return removed;
  }

  private async findClosed(): Promise<Entry[]> {
    const open = new Map<string, QueueOfModel & { rows: number }>();
    for (const queue of await this.options.queues()) open.set(nameOf(queue), { ...queue, rows: 0 });
    for (const { modality, modelId, count } of await this.options.jobs.countOpen()) {
      const queue = { modality, modelId };
      open.set(nameOf(queue), { ...queue, rows: (open.get(nameOf(queue))?.rows ?? 0) + count });
    }
    const closed: Entry[] = [];
    for (const queue of open.values()) closed.push(...(await this.closedOf(queue)));
    return closed;
  }

  private async closedOf({ modality, modelId, rows }: QueueOfModel & { rows: number }): Promise<Entry[]> {
    const { producer, jobs } = this.options;
    const { active: _taken, ...waiting } = await producer.counts(modality, modelId);
    if (Object.values(waiting).reduce((sum, count) => sum + count, 0) <= rows) return [];
    const closed: Entry[] = [];
    for (let first = 0; first < maxEntries; first += pageEntries) {
      const ids = await producer.listWaiting(modality, modelId, { first, count: pageEntries });
      const open = new Set(ids.length === 0 ? [] : await jobs.selectOpen(ids));
      closed.push(...ids.filter((id) => !open.has(id)).map((requestId) => ({ modality, modelId, requestId })));
      if (ids.length < pageEntries) break;
    }
    return closed;
  }
}

function nameOf({ modality, modelId }: QueueOfModel): string {
  return `${modality}.${modelId}`;
}

function keyOf({ requestId, ...queue }: Entry): string {
  return `${nameOf(queue)} ${requestId}`;
}
