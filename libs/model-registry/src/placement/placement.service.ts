import { PlatformError } from '#common';
import type { ModelRegistryService } from '../registry/model-registry.service.js';
import { type DesiredState, type ModelPlacement, poolPattern, type WorkerState } from './placement.js';
import { PlacementRepository } from './placement.repository.js';

/** Age above which holdings are stale, in ms: the worker or ops has stopped. ops writes them every 10 s. */
const maxAgeMs = 20_000;

const maxReplicas = 10_000;

/** Placement commands of operators. */
export class PlacementService {
  constructor(
    private readonly repository: PlacementRepository,
    private readonly registry: ModelRegistryService,
  ) {}

  /**
   * Places a model in a pool; returns the current workers of the pool. Rejects with `MODEL_NOT_FOUND`. Rejects with
   * `INVALID_REQUEST` for an invalid pool name, and for a model larger than any worker of the pool supports.
   */
  async place(placement: ModelPlacement): Promise<WorkerState[]> {
    const { modelId, pool, replicas } = placement;
    assertPool(pool);
    if (replicas !== null && !(Number.isInteger(replicas) && replicas >= 1 && replicas <= maxReplicas)) {
      throw new PlatformError('INVALID_REQUEST', `Replicas must be a whole number from 1 to ${maxReplicas}.`);
    }
    const manifest = await this.registry.find(modelId);
    const isInternal = manifest === null && (await this.isRegistered(modelId));
    if (manifest === null && !isInternal) {
      throw new PlatformError('MODEL_NOT_FOUND', `The registry has no model ${modelId}.`, 'model');
    }
    const workers = await this.workersOf(pool);
    assertFits(modelId, manifest?.installedBytes ?? 0, pool, workers);
    await this.repository.place(placement);
    return workers;
  }

  /**
   * Removes a model from one pool, or (null) from all; returns the pools it was in. Rejects with `NOT_FOUND` if there
   * were none.
   */
  async unplace(modelId: string, pool: string | null): Promise<string[]> {
    if (pool !== null) assertPool(pool);
    const pools = await this.repository.unplace(modelId, pool);
    if (pools.length > 0) return pools;
    const where = pool === null ? 'in any pool' : `in the pool ${pool}`;
    throw new PlatformError('NOT_FOUND', `${modelId} is not placed ${where}. See: sluice models placement`);
  }

  desired(): Promise<DesiredState> {
    return this.repository.read();
  }

  /** Returns the workers with a recent heartbeat at ops. */
  async workers(): Promise<WorkerState[]> {
    const since = Date.now() - maxAgeMs;
    return (await this.repository.readWorkers()).filter(({ seenAt }) => seenAt.getTime() > since);
  }

  private async workersOf(pool: string): Promise<WorkerState[]> {
    return (await this.workers()).filter(({ pools }) => pools.includes(pool));
  }

  /** Reads the manifest directly, because the client lookup hides internal models. */
  private async isRegistered(modelId: string): Promise<boolean> {
    return (await this.registry.inventory()).some(({ manifest }) => manifest.id === modelId);
  }
}

/** Throws `INVALID_REQUEST` for a text that cannot name a pool. */
export function assertPool(pool: string): void {
  if (poolPattern.test(pool)) return;
  const message = 'A pool is named with a-z, 0-9, ".", "_" and "-", a letter or digit first, 63 at most.';
  throw new PlatformError('INVALID_REQUEST', message, 'pool');
}

/** Compares only the weights with the largest device of the pool: a model rejected here fits no worker. */
function assertFits(modelId: string, bytes: number, pool: string, workers: readonly WorkerState[]): void {
  const largest = Math.max(...workers.flatMap(({ budgets }) => Object.values(budgets)));
  if (workers.length === 0 || workers.some(({ budgets }) => Object.keys(budgets).length === 0) || bytes <= largest) {
    return;
  }
  const message =
    `${modelId} needs ${inMegabytes(bytes)} for its weights alone; the largest budget of a worker in the pool ${pool} is ` +
    `${inMegabytes(largest)}. Start a larger worker in that pool first, or give its workers more with SLUICE_MEMORY_BUDGET.`;
  throw new PlatformError('INVALID_REQUEST', message, 'model');
}

function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
