import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import type { DocumentedRoute } from '#platform/http';
import { scopes } from './admin-query.js';

/* What the OpenAPI documents of the Admin API have in common. */

export const adminRoute = { tags: ['Admin'], security: 'inherited' } as const satisfies Partial<DocumentedRoute>;

export const adminErrors = [400, 401, 403, 429, 500];

const day = { type: 'string', pattern: String.raw`^\d{4}-\d{2}-\d{2}$` };

export const DayRangeQuery = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({
      name: 'tz',
      required: false,
      schema: { type: 'string', maxLength: 64, default: 'UTC' },
      description: 'The time zone in which days begin and end.',
    }),
    ApiQuery({ name: 'to', required: false, schema: day, description: 'Last day; default: today.' }),
    ApiQuery({ name: 'from', required: false, schema: day, description: 'First day; default: six days before.' }),
  );

export const KeyAndModelQuery = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({
      name: 'key',
      required: false,
      schema: { type: 'string', format: 'uuid' },
      description: 'The id of one key.',
    }),
    ApiQuery({ name: 'model', required: false, schema: { type: 'string', maxLength: 200 }, description: 'One model.' }),
  );

export const ScopeQuery = (): MethodDecorator =>
  ApiQuery({
    name: 'scope',
    required: false,
    schema: { type: 'string', enum: [...scopes], default: 'account' },
    description: '`installation`: every account, for operators.',
  });

export const PageQuery = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({
      name: 'cursor',
      required: false,
      schema: { type: 'string', maxLength: 400, pattern: String.raw`^[\w-]+$` },
      description: '`nextCursor` of the previous page, with the same filters.',
    }),
    ApiQuery({
      name: 'limit',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
      description: 'Rows per page.',
    }),
  );
