import { applyDecorators, Controller, Get, Query } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { Access, ApiRoute, type DocumentedRoute, Exchange, type HttpExchange } from '#platform/http';
import { adminErrors, adminRoute } from '../admin.document.js';
import { readTimeZone } from '../day-range.query.js';
import { OverviewResponse } from './overview.response.js';
import { OverviewService } from './overview.service.js';

const document: DocumentedRoute = {
  ...adminRoute,
  operationId: 'getAdminOverview',
  summary: 'Show what happens now',
  description:
    'Requests, queue, workers and models at this moment: of the key for an inference key, of the account for an ADMIN ' +
    'key, of the installation for an operator.',
  responses: { 200: { json: OverviewResponse } },
  errors: [...adminErrors, 504],
};

const OverviewRoute = (): MethodDecorator =>
  applyDecorators(
    ApiRoute(document),
    ApiQuery({
      name: 'tz',
      required: false,
      schema: { type: 'string', maxLength: 64, default: 'UTC' },
      description: 'The time zone of `spendToday`.',
    }),
  );

@Controller('overview')
export class OverviewController {
  constructor(private readonly service: OverviewService) {}

  @Get()
  @Access('inference', { shared: true })
  @OverviewRoute()
  overview(@Exchange() { caller }: HttpExchange, @Query() query: unknown): Promise<OverviewResponse> {
    return this.service.overview(caller, readTimeZone(query));
  }
}
