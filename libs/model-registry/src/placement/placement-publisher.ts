import { Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import type { DesiredState, ServedByWorker, WorkerState } from './placement.js';
import { PlacementRepository } from './placement.repository.js';

/** The part of the bus that is needed here; `PlacementBus` of #queue implements it. */
export interface PlacementChannel {
  announce(desired: DesiredState): Promise<void>;
  subscribe(listeners: { onAsk: () => void }): () => void;
}

/** The part of a heartbeat that is needed here; `Heartbeat` of #queue implements it. */
export interface WorkerHeartbeatLike {
  processId: string;
  role: string;
  models: readonly ServedByWorker[];
  worker?: {
    pools: readonly string[];
    budgets: Readonly<Record<string, number>>;
    withoutReplica: WorkerState['withoutReplica'];
  };
}

/** How placements reach the workers; the process provides it. */
export abstract class PlacementBroadcast {
  abstract readonly channel: PlacementChannel;
  /** Processes with a recent heartbeat. */
  abstract readonly heartbeats: () => readonly WorkerHeartbeatLike[];
}

/** Shortest pause between two polls, in ms: any number of workers may ask. */
const pauseAtLeastMs = 50;

/** Number of polls after which placements are published again, changed or not. */
const repeatEvery = 5;

/** Number of polls after which unchanged holdings are written again. */
const recordEvery = 10;

/** Time without a heartbeat after which a worker is removed, in ms. */
const removeAfterMs = 60_000;

/**
 * Publishes the operators' placements to workers, which have no database: on changes, when a worker asks, and
 * periodically, because the bus may lose a message. Records which models the workers serve for the command line, which
 * has no bus. Any number of replicas may run.
 */
@Injectable()
export class PlacementPublisher {
  private readonly stopped = new AbortController();
  private readonly recorded = new Map<string, string>();
  private loop: Promise<void> = Promise.resolve();
  private unsubscribe: () => void = () => undefined;
  private wake: () => void = () => undefined;
  private isRequested = false;
  private polls = 0;
  private publishedRevision = -1;

  constructor(
    private readonly repository: PlacementRepository,
    private readonly broadcast: PlacementBroadcast,
    private readonly logger: Logger,
    /** Interval between two polls of the database, in ms. */
    @Optional() private readonly everyMs = 1_000,
  ) {}

  start(): void {
    this.unsubscribe = this.broadcast.channel.subscribe({
      onAsk: () => {
        this.isRequested = true;
        this.wake();
      },
    });
    this.loop = this.repeat();
  }

  /** Resolves when the poll in progress has ended. */
  async close(): Promise<void> {
    this.unsubscribe();
    this.stopped.abort();
    this.wake();
    await this.loop;
  }

  private async repeat(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      await this.step('the placements could not be published to the workers', () => this.publishPlacements());
      await this.step('the holdings of the workers could not be recorded', () => this.recordHoldings());
      this.polls++;
      await this.pause();
    }
  }

  private async step(complaint: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.logger.warn({ error }, `${complaint}; retrying`);
    }
  }

  private async publishPlacements(): Promise<void> {
    const { repository, logger } = this;
    const { channel } = this.broadcast;
    const isRequested = this.isRequested;
    this.isRequested = false;
    const desired = await repository.read();
    if (!isRequested && desired.revision === this.publishedRevision && this.polls % repeatEvery !== 0) return;
    await channel.announce(desired);
    if (desired.revision !== this.publishedRevision) {
      const { revision, placements } = desired;
      logger.info({ revision, placements: placements.length }, `published placement ${revision} to the workers`);
    }
    this.publishedRevision = desired.revision;
  }

  private async recordHoldings(): Promise<void> {
    const { repository } = this;
    const { heartbeats } = this.broadcast;
    const states = heartbeats()
      .filter(({ role }) => role === 'worker')
      .map(workerStateOf);
    // A worker may give itself the id of another: the one that came first counts.
    const workers = [...new Map(states.toReversed().map((state) => [state.processId, state])).values()];
    const isTime = this.polls % recordEvery === 0;
    const changed = workers.filter(
      (worker) => isTime || this.recorded.get(worker.processId) !== JSON.stringify(worker),
    );
    await repository.recordWorkers(changed);
    this.recorded.clear();
    for (const worker of workers) this.recorded.set(worker.processId, JSON.stringify(worker));
    if (isTime) await repository.deleteSilentWorkers(removeAfterMs);
  }

  private async pause(): Promise<void> {
    const { everyMs } = this;
    const atLeastMs = Math.min(pauseAtLeastMs, everyMs);
    await this.sleep(atLeastMs, () => this.stopped.signal.aborted);
    await this.sleep(everyMs - atLeastMs, () => this.stopped.signal.aborted || this.isRequested);
  }

  /** Waits so long, or until something happened that ends it. */
  private async sleep(ms: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Omits frequently changing values, so that nothing is written without a change. */
function workerStateOf({ processId, models, worker }: WorkerHeartbeatLike): Omit<WorkerState, 'seenAt'> {
  const { pools = [], budgets = {}, withoutReplica = [] } = worker ?? {};
  return {
    processId,
    pools,
    budgets,
    models: models.map(({ modelId, state, provider, providerNote, memory }) => ({
      modelId,
      state,
      provider,
      ...(providerNote !== undefined && { providerNote }),
      ...(memory !== undefined && { memory }),
    })),
    withoutReplica,
  };
}
