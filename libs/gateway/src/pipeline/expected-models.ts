import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { QueueTransport } from '#queue';
import { ModelAvailabilityWatcher } from './model-availability-watcher.js';

/** Causes that last until an operator changes something. */
const lastingCauses: readonly string[] = ['not-installed', 'too-large'];

/**
 * Distinguishes a model that a worker will soon serve again from one that this installation does not have: a retry of a
 * request helps only with the first.
 */
@Injectable()
export class ExpectedModels implements OnApplicationBootstrap, OnApplicationShutdown {
  private placed: ReadonlySet<string> = new Set();
  private stop: () => void = () => undefined;

  constructor(
    private readonly transport: QueueTransport,
    private readonly replicas: ModelAvailabilityWatcher,
  ) {}

  onApplicationBootstrap(): void {
    const { placements } = this.transport;
    this.stop = placements.subscribe({
      onDesired: (desired) => {
        this.placed = new Set(desired.placements.map(({ modelId }) => modelId));
      },
    });
    placements.ask();
  }

  onApplicationShutdown(): void {
    this.stop();
  }

  /**
   * Returns true when a worker has the model or may get it soon: it loads the model, waits for memory, retries a failed
   * load, left a while ago, or belongs to a pool in which the model is placed. Also true while no worker is known, as
   * at a start.
   */
  isExpected(modelId: string): boolean {
    const workers = this.transport.membership.list().filter(({ role }) => role === 'worker');
    if (workers.length === 0 || this.replicas.isMissed(modelId)) return true;
    if (workers.some(({ models }) => models.some((model) => model.modelId === modelId))) return true;
    const causes = workers.flatMap(({ worker }) =>
      (worker?.withoutReplica ?? []).filter((model) => model.modelId === modelId).map(({ cause }) => cause),
    );
    if (causes.length > 0) return causes.some((cause) => !lastingCauses.includes(cause));
    return this.placed.has(modelId);
  }
}
