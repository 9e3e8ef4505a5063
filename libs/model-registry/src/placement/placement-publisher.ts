import type { Logger } from '#platform/logging';
import type { DesiredState, ServedByWorker, WorkerState } from './placement.js';
import type { PlacementRepository } from './placement.repository.js';

/** The bus as this needs it; `PlacementBus` of #queue is one. */
export interface PlacementChannel {
  announce(desired: DesiredState): Promise<void>;
  subscribe(listeners: { onAsk: () => void }): () => void;
}

/** A heartbeat as this reads it; `Heartbeat` of #queue is one. */
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

export interface PlacementPublisherOptions {
  repository: PlacementRepository;
  channel: PlacementChannel;
  /** The processes heard of lately. */
  heartbeats: () => readonly WorkerHeartbeatLike[];
  logger: Logger;
  /** Pause between two looks at the database, in ms. */
  everyMs?: number;
}

/** Looks after which the placements are told again, changed or not. */
const repeatEvery = 5;

/** Looks after which holdings that did not change are written again. */
const noteEvery = 10;

/** A worker that was heard of by nobody for so long is forgotten, in ms. */
const forgetAfterMs = 60_000;

/**
 * Tells workers, which know no database, what operators placed: when it changes, when a worker asks, and again and again,
 * since the bus may lose a message. Writes down what the workers hold, for the command line, which hears no bus. Any
 * number of replicas may run.
 */
export class PlacementPublisher {
  private readonly stopped = new AbortController();
  private readonly noted = new Map<string, string>();
  private loop: Promise<void> = Promise.resolve();
  private unsubscribe: () => void = () => undefined;
  private wake: () => void = () => undefined;
  private isAsked = false;
  private looks = 0;
  private publishedRevision = -1;

  constructor(private readonly options: PlacementPublisherOptions) {}

  start(): void {
    this.unsubscribe = this.options.channel.subscribe({
      onAsk: () => {
        this.isAsked = true;
        this.wake();
      },
    });
    this.loop = this.repeat();
  }

  /** Resolves when the look in progress has ended. */
  async close(): Promise<void> {
    this.unsubscribe();
    this.stopped.abort();
    this.wake();
    await this.loop;
  }

  private async repeat(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      await this.step('the placements could not be told to the workers', () => this.tell());
      await this.step('what the workers hold could not be written down', () => this.note());
      this.looks++;
      await this.pause();
    }
  }

  private async step(complaint: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.options.logger.warn({ error }, `${complaint}; it is tried again`);
    }
  }

  private async tell(): Promise<void> {
    const { repository, channel, logger } = this.options;
    const isAsked = this.isAsked;
    this.isAsked = false;
    const desired = await repository.read();
    if (!isAsked && desired.revision === this.publishedRevision && this.looks % repeatEvery !== 0) return;
    await channel.announce(desired);
    if (desired.revision !== this.publishedRevision) {
      const { revision, placements } = desired;
      logger.info({ revision, placements: placements.length }, `told the workers placement ${revision}`);
    }
    this.publishedRevision = desired.revision;
  }

  private async note(): Promise<void> {
    const { repository, heartbeats } = this.options;
    const workers = heartbeats()
      .filter(({ role }) => role === 'worker')
      .map(workerStateOf);
    const isTime = this.looks % noteEvery === 0;
    const news = workers.filter((worker) => isTime || this.noted.get(worker.processId) !== JSON.stringify(worker));
    await repository.recordWorkers(news);
    this.noted.clear();
    for (const worker of workers) this.noted.set(worker.processId, JSON.stringify(worker));
    if (isTime) await repository.deleteSilentWorkers(forgetAfterMs);
  }

  private async pause(): Promise<void> {
    if (this.isAsked || this.stopped.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.options.everyMs ?? 1_000);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Without the figures that move all the time, so that nothing is written while nothing changes. */
function workerStateOf({ processId, models, worker }: WorkerHeartbeatLike): Omit<WorkerState, 'seenAt'> {
  const { pools = [], budgets = {}, withoutReplica = [] } = worker ?? {};
  return {
    processId,
    pools,
    budgets,
    models: models.map(({ modelId, state, provider, memory }) => ({
      modelId,
      state,
      provider,
      ...(memory !== undefined && { memory }),
    })),
    withoutReplica,
  };
}
