import { Module } from '@nestjs/common';
import { PlacementRepository } from '../placement/placement.repository.js';
import { ModelRepository } from '../registry/model.repository.js';
import { ModelRegistryService } from '../registry/model-registry.service.js';

/** The table of models. The process provides `OnlineModels`. */
@Module({
  providers: [ModelRepository, ModelRegistryService, PlacementRepository],
  exports: [ModelRepository, ModelRegistryService, PlacementRepository],
})
export class ModelRegistryModule {}
