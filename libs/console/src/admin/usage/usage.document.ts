import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { usageGroupings } from '#billing/usage';
import { ApiRoute, type DocumentedRoute } from '#platform/http';
import { adminErrors, adminRoute, DayRangeQuery, KeyAndModelQuery, ScopeQuery } from '../admin.document.js';
import { AdminUsageResponse } from './usage.response.js';

const usageDocument: DocumentedRoute = {
  ...adminRoute,
  operationId: 'getAdminUsage',
  summary: 'Sum usage and cost up by day, model, key or kind',
  description:
    'What the ledger charged in whole days of a time zone. Failed requests are counted apart and cost nothing. An ' +
    'inference key gets its own usage.',
  responses: { 200: { json: AdminUsageResponse } },
  errors: [...adminErrors, 504],
};

const csvDocument: DocumentedRoute = {
  ...usageDocument,
  operationId: 'getAdminUsageCsv',
  summary: 'The same sums as a file',
  responses: {
    200: {
      description: 'One line per group, and one with the total.',
      content: { 'text/csv': { schema: { type: 'string' } } },
    },
  },
};

const parameters = [
  KeyAndModelQuery(),
  ApiQuery({
    name: 'groupBy',
    required: false,
    schema: { type: 'string', enum: [...usageGroupings], default: 'day' },
    description: 'One line per what.',
  }),
  ScopeQuery(),
  DayRangeQuery(),
];

export const UsageRoute = (): MethodDecorator => applyDecorators(ApiRoute(usageDocument), ...parameters);
export const UsageCsvRoute = (): MethodDecorator => applyDecorators(ApiRoute(csvDocument), ...parameters);
