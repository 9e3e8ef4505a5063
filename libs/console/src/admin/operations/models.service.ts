import { PriceList } from '#billing';
import { type ModelPlacement, ModelRegistryService, PlacementRepository, PlacementService } from '#model-registry';
import type { ModelManifest } from '#model-registry/manifest';
import { Injectable } from '#platform/injection';
import { type Heartbeat, QueueTransport } from '#queue';
import { heardWorkers } from '#queue/workers';
import type { AdminModelResponse } from './operations.response.js';

/** The models of the registry, and what workers do with them. */
@Injectable()
export class ModelsService {
  private readonly placementService: PlacementService;

  constructor(
    private readonly registry: ModelRegistryService,
    private readonly placements: PlacementRepository,
    private readonly prices: PriceList,
    private readonly transport: QueueTransport,
  ) {
    this.placementService = new PlacementService(placements, registry);
  }

  /** By id, internal models included. */
  async list(): Promise<AdminModelResponse[]> {
    const [inventory, { placements }] = await Promise.all([this.registry.inventory(), this.placements.read()]);
    const workers = heardWorkers(this.transport.membership.list());
    return Promise.all(
      inventory.map(async ({ manifest, disabled }) => ({
        ...describeModel(manifest, disabled, workers),
        placements: placements
          .filter(({ modelId }) => modelId === manifest.id)
          .map(({ pool, pinned, replicas }) => ({ pool, pinned, replicas })),
        prices: (await this.prices.current(manifest.id).catch(() => null))?.pricing ?? null,
      })),
    );
  }

  /** Rejects as `PlacementService.place` does. */
  async place(placement: ModelPlacement): Promise<void> {
    await this.placementService.place(placement);
  }

  /** Resolves to the pools it was in. Rejects with `NOT_FOUND` if there were none. */
  async unplace(modelId: string, pool: string | null): Promise<string[]> {
    return this.placementService.unplace(modelId, pool);
  }

  /** Rejects with `MODEL_NOT_FOUND`. */
  async setEnabled(modelId: string, isEnabled: boolean): Promise<void> {
    await this.registry.setDisabled(modelId, !isEnabled);
  }

  /** Removes a model from the registry; its files stay. Rejects with `MODEL_NOT_FOUND`. */
  async remove(modelId: string): Promise<void> {
    await this.registry.remove(modelId);
  }
}

type Described = Omit<AdminModelResponse, 'placements' | 'prices'>;

function describeModel(manifest: ModelManifest, isDisabled: boolean, workers: readonly Heartbeat[]): Described {
  const { id, name, type, family, internal, installedBytes } = manifest;
  const replicas = workers.flatMap(({ processId, models }) =>
    models.filter(({ modelId }) => modelId === id).map(({ state }) => ({ processId, state })),
  );
  const isReady = replicas.some(({ state }) => state === 'ready');
  const state = isDisabled ? 'disabled' : isReady ? 'online' : replicas.length > 0 ? 'loading' : 'offline';
  return {
    ...{ id, name, type, family, state },
    reason: isReady ? null : reasonOf(id, workers),
    internal: internal === true,
    sizeBytes: installedBytes ?? null,
    workers: replicas.map(({ processId }) => processId),
  };
}

/** What the first worker that should serve the model says about it. */
function reasonOf(modelId: string, workers: readonly Heartbeat[]): string | null {
  const missing = workers.flatMap(({ worker }) => worker?.withoutReplica ?? []);
  return missing.find((model) => model.modelId === modelId)?.reason ?? null;
}
