import { KnownQueues } from '#jobs/nest';
import { modalitiesOf } from '#modalities';
import { ModelRegistryService, ModelRepository, noOnlineModels } from '#model-registry';
import { Injectable } from '#platform/injection';

/** One queue for each modality of each model in the registry, served or not. */
@Injectable()
export class RegistryQueues extends KnownQueues {
  private readonly registry: ModelRegistryService;

  constructor(models: ModelRepository) {
    super();
    this.registry = new ModelRegistryService(models, noOnlineModels);
  }

  async list(): ReturnType<KnownQueues['list']> {
    return (await this.registry.inventory()).flatMap(({ manifest }) =>
      modalitiesOf(manifest).map((modality) => ({ modality, modelId: manifest.id })),
    );
  }
}
