import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { ApiRoute, type DocumentedRoute, jsonContent } from '#platform/http';
import { BalanceResponse } from './balance.response.js';
import { UsageAnalyticsResponse } from './usage-analytics.response.js';
import { UsageHistoryResponse } from './usage-history.response.js';

/* OpenAPI documents of the routes of billing. */

const tags = ['Billing'];
const errors = [400, 401, 403, 429, 500];
const day = { type: 'string', pattern: String.raw`^\d{4}-\d{2}-\d{2}$` };
const cursor = { type: 'string', maxLength: 512, pattern: '^[A-Za-z0-9_-]+$' } as const;
const time = { type: 'string', maxLength: 40, format: 'date-time' } as const;

export const balanceDocument: DocumentedRoute = {
  tags,
  security: 'inherited',
  operationId: 'getBillingBalance',
  summary: 'Show what the account can spend',
  description: 'The balance in each currency, without what running requests have reserved.',
  responses: { 200: { json: BalanceResponse } },
  errors: [401, 403, 429, 500],
};

export const retiredUsageDocument: DocumentedRoute = {
  tags,
  security: 'none',
  deprecated: true,
  operationId: 'getBillingUsage',
  summary: 'Gone',
  description: 'Always 410: use `GET /billing/usage-history`.',
  responses: {
    410: {
      description: 'Always; `Link` names the successor.',
      headers: {
        Deprecation: { description: 'Since when.', schema: { type: 'string' } },
        Sunset: { description: 'When the route was retired.', schema: { type: 'string' } },
        Link: { description: 'The replacement route.', schema: { type: 'string' } },
      },
    },
  },
  errors: [410],
};

const historyDocument: DocumentedRoute = {
  tags,
  security: 'inherited',
  operationId: 'getBillingUsageHistory',
  summary: 'List charges, oldest first',
  description: 'Every line once, even while new charges arrive between pages. `Accept: text/csv` returns a file.',
  responses: {
    200: {
      description: 'One page.',
      headers: {
        'Content-Disposition': { description: 'For CSV: a file name.', schema: { type: 'string' } },
        'x-next-cursor': { description: 'For CSV: the cursor of the next page.', schema: cursor },
      },
      content: { ...jsonContent(UsageHistoryResponse), 'text/csv': { schema: { type: 'string' } } },
    },
  },
  models: [UsageHistoryResponse],
  errors,
};

export const UsageHistoryRoute = (): MethodDecorator =>
  applyDecorators(
    ApiRoute(historyDocument),
    ApiQuery({
      name: 'currency',
      required: false,
      schema: { type: 'string', enum: ['USD', 'DIEM', 'BUNDLED_CREDITS'] },
      description: 'Charges in this currency only.',
    }),
    ApiQuery({ name: 'startTimestamp', required: false, schema: time, description: 'Not before this time.' }),
    ApiQuery({ name: 'endTimestamp', required: false, schema: time, description: 'Before this time.' }),
    ApiQuery({
      name: 'pageSize',
      required: false,
      schema: { type: 'integer', minimum: 10, maximum: 1000, default: 1000 },
      description: 'Lines per page.',
    }),
    ApiQuery({
      name: 'cursor',
      required: false,
      schema: cursor,
      description: '`nextCursor` of the previous page, on its own: its filters carry over. Valid for 24 h.',
    }),
  );

const analyticsDocument: DocumentedRoute = {
  tags,
  security: 'inherited',
  operationId: 'getBillingUsageAnalytics',
  summary: 'Aggregate usage by day, model and key',
  description: 'Sums of charges over at most 90 days, for charts: by day, by model and by key.',
  responses: { 200: { json: UsageAnalyticsResponse } },
  errors: [...errors, 504],
};

// The decorators of a method are applied from the last to the first, those of a list from the first: the parameters keep
// their order in the document.
export const UsageAnalyticsRoute = (): MethodDecorator =>
  applyDecorators(
    ApiRoute(analyticsDocument),
    ApiQuery({ name: 'endDate', required: false, schema: day, description: 'Last day (UTC), with `startDate`.' }),
    ApiQuery({ name: 'startDate', required: false, schema: day, description: 'First day (UTC), with `endDate`.' }),
    ApiQuery({
      name: 'lookback',
      required: false,
      schema: { type: 'string', pattern: String.raw`^[1-9]\d*d$`, default: '7d' },
      description: 'Number of days, today (UTC) included; at most 90.',
    }),
  );
