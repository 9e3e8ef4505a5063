import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/nest';
import { JobsModule } from '#jobs/nest';
import { ModelRegistryModule } from '#model-registry/nest';
import { OverviewController } from './overview/overview.controller.js';
import { OverviewService } from './overview/overview.service.js';
import { RequestsController } from './requests/requests.controller.js';
import { UsageController } from './usage/usage.controller.js';

/** The routes under `/api/admin/v1`, which the console reads. */
@Module({
  imports: [BillingModule, JobsModule, ModelRegistryModule],
  controllers: [OverviewController, UsageController, RequestsController],
  providers: [OverviewService],
})
export class AdminModule {}
