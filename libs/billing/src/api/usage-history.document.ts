import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiOperation, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { ApiErrors, jsonContent } from '#platform/http';
import { UsageHistoryResponse } from './usage-history.response.js';

const cursor = { type: 'string', maxLength: 512, pattern: '^[A-Za-z0-9_-]+$' } as const;
const time = { type: 'string', maxLength: 40, format: 'date-time' } as const;

/** API document of `GET /billing/usage-history`. */
export function UsageHistoryDocument(): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(UsageHistoryResponse),
    ApiOperation({
      operationId: 'getBillingUsageHistory',
      summary: 'List charges, oldest first',
      description: 'Every line once, even while new charges arrive between pages. `Accept: text/csv` returns a file.',
    }),
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
    ApiResponse({
      status: 200,
      description: 'One page.',
      headers: {
        'Content-Disposition': { description: 'For CSV: a file name.', schema: { type: 'string' } },
        'x-next-cursor': { description: 'For CSV: the cursor of the next page.', schema: cursor },
      },
      content: {
        ...jsonContent(UsageHistoryResponse),
        'text/csv': { schema: { type: 'string' } },
      },
    }),
    ApiErrors('standard', [400, 401, 403, 429, 500]),
  );
}
