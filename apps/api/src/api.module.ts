import { type DynamicModule, Module } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { ModelRegistryService } from '#model-registry';
import { DownloadService } from '#jobs';
import { Readiness } from '#platform/health';
import { Metrics } from '#platform/metrics';
import { accountProviders } from './account-services.js';
import { VoicesService } from '#modalities/speech/api';
import type { ApiServices } from './api-services.js';
import { apiControllers } from './controllers.js';
import { inferenceProviders } from './inference-providers.js';
import { limitProviders } from './limit-services.js';
import { OperationsController } from './operations.controller.js';

/** The routes under `/api/v1`. */
@Module({})
class ApiRoutesModule {}

/** The root: the operations routes, and everything under the base path. */
@Module({})
export class ApiModule {
  static of(services: ApiServices): DynamicModule {
    const routes: DynamicModule = {
      module: ApiRoutesModule,
      controllers: apiControllers,
      providers: [
        { provide: ModelRegistryService, useValue: services.registry },
        ...accountProviders(services),
        ...limitProviders(services),
        { provide: DownloadService, useValue: services.downloads },
        { provide: VoicesService, useValue: services.voices },
        ...inferenceProviders(services),
      ],
    };
    return {
      module: ApiModule,
      imports: [routes, RouterModule.register([{ path: 'api/v1', module: ApiRoutesModule }])],
      controllers: [OperationsController],
      providers: [
        { provide: Readiness, useValue: services.readiness },
        { provide: Metrics, useValue: services.metrics },
      ],
    };
  }
}
