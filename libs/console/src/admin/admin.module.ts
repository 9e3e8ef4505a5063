import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/nest';
import { CharactersModule } from '#characters/nest';
import { DocumentsModule } from '#documents/nest';
import { GatewayModule } from '#gateway';
import { JobsModule } from '#jobs/nest';
import { InstallationRepository } from '#model-registry/installations';
import { ModelRegistryModule } from '#model-registry/nest';
import { AccountTopUpsRepository } from '#payments';
import { AdminBillingController } from './billing/billing.controller.js';
import { CharacterFilesService } from './characters/character-files.service.js';
import { AdminCharactersController } from './characters/characters.controller.js';
import { AlertsService } from './health/alerts.service.js';
import { AdminHealthController } from './health/health.controller.js';
import { InstallationsController } from './installations/installations.controller.js';
import { InstallationsService } from './installations/installations.service.js';
import { ModelsService } from './operations/models.service.js';
import { OperationsController } from './operations/operations.controller.js';
import { QueueService } from './operations/queue.service.js';
import { OverviewController } from './overview/overview.controller.js';
import { OverviewService } from './overview/overview.service.js';
import { RequestsController } from './requests/requests.controller.js';
import { UsageController } from './usage/usage.controller.js';

/** The routes under `/api/admin/v1`, which the console reads. The process provides `Readiness` and a `TextEmbedder`. */
@Module({
  imports: [BillingModule, CharactersModule, DocumentsModule, GatewayModule, JobsModule, ModelRegistryModule],
  controllers: [
    OverviewController,
    UsageController,
    RequestsController,
    OperationsController,
    InstallationsController,
    AdminBillingController,
    AdminHealthController,
    AdminCharactersController,
  ],
  providers: [
    OverviewService,
    QueueService,
    ModelsService,
    AlertsService,
    InstallationRepository,
    AccountTopUpsRepository,
    InstallationsService,
    CharacterFilesService,
  ],
})
export class AdminModule {}
