import { Module } from '@nestjs/common';
import { ModelRegistryModule } from '../nest/model-registry.module.js';
import { ModelsController } from './models.controller.js';

/** The routes that list models. */
@Module({ imports: [ModelRegistryModule], controllers: [ModelsController] })
export class ModelsApiModule {}
