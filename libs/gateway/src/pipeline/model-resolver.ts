import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ModelRegistryService, type ResolvedModel, type ResolveRequest } from '#model-registry';
import type { ModelType } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { Metrics } from '#platform/metrics';
import { QueueTransport } from '#queue';
import { regionOf } from '../access/caller-region.js';
import { assertModelPrivacy } from '../access/model-privacy.js';
import { StoreBudgets } from '../request/store-budgets.js';

/** Who asks for a model: the headers name the region, the API key the models it may call. Without a key, all. */
export type ModelRequester = Pick<FastifyRequest, 'headers' | 'caller'> & { id?: string };

/** Finds the model that a request names, and records models that are requested while no worker serves them. */
@Injectable()
export class ModelResolver {
  private readonly unserved: ReturnType<Metrics['gauge']>;

  constructor(
    private readonly registry: ModelRegistryService,
    private readonly budgets: StoreBudgets,
    private readonly transport: QueueTransport,
    metrics: Metrics,
    private readonly config: ApiConfig,
  ) {
    // A queue of a model without workers stays empty, so it never shows that a pool at zero is needed; this metric does.
    // It is a timestamp because the first increment of a new counter is invisible to rate().
    const help = 'Unix time of the last request for a model without a replica, in seconds.';
    this.unserved = metrics.gauge('sluice_model_last_unserved_request_timestamp_seconds', help, ['model']);
  }

  /**
   * Returns the model of a type that a name means to the requester, even one that no worker serves. Rejects as
   * `ModelRegistryService.resolve` does, and with `UNAUTHORIZED` where the key may not call it (`modelPrivacy`).
   */
  async resolve(
    name: string,
    type: ModelType,
    { id, headers, caller }: ModelRequester,
    { isAdapter = false }: Pick<ResolveRequest, 'isAdapter'> = {},
  ): Promise<ResolvedModel> {
    const region = regionOf(headers, this.config.regionHeader);
    const betaAccess = this.config.betaModels || (caller?.betaAccess ?? false);
    const options = { name, type, allowOffline: true, betaAccess, region, isAdapter };
    const resolved = await this.budgets.of(id).within(this.registry.resolve(options));
    if (caller !== null) assertModelPrivacy(caller, resolved.manifest);
    if (resolved.offline && !resolved.disabled) {
      this.unserved.setToCurrentTime({ model: resolved.manifest.id });
      // A worker that could serve it but had no memory for it may unload another model.
      this.transport.placements.reportUnserved(resolved.manifest.id);
    }
    return resolved;
  }
}
