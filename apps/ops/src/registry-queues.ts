import { KnownQueues } from '#jobs/nest';
import { modalitiesOf } from '#modalities';
import { ModelRegistryService, noOnlineModels } from '#model-registry';
import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** One queue for each modality of each model in the registry, served or not. */
@Injectable()
export class RegistryQueues extends KnownQueues {
  private readonly registry: ModelRegistryService;

  constructor(prisma: PrismaService) {
    super();
    this.registry = new ModelRegistryService(prisma, noOnlineModels);
  }

  async list(): ReturnType<KnownQueues['list']> {
    return (await this.registry.inventory()).flatMap(({ manifest }) =>
      modalitiesOf(manifest).map((modality) => ({ modality, modelId: manifest.id })),
    );
  }
}
