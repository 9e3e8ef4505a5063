import { applyDecorators } from '@nestjs/common';
import { ApiParam, ApiQuery } from '@nestjs/swagger';
import { ApiRoute, type DocumentedRoute } from '#platform/http';
import { adminErrors, adminRoute, DayRangeQuery, KeyAndModelQuery, PageQuery, ScopeQuery } from '../admin.document.js';
import { RequestDetailResponse, RequestListResponse, requestStates } from './requests.response.js';

const listDocument: DocumentedRoute = {
  ...adminRoute,
  operationId: 'getAdminRequests',
  summary: 'List requests, open ones first, then the latest',
  description: 'What requests were and cost, never what was in them. An inference key gets its own requests.',
  responses: { 200: { json: RequestListResponse } },
  errors: [...adminErrors, 504],
};

const showDocument: DocumentedRoute = {
  ...adminRoute,
  operationId: 'getAdminRequestById',
  summary: 'Show a request with its attempts and charges',
  description: 'By its request id, as in `CF-RAY` and in the log, or by the queue id of an async job.',
  responses: { 200: { json: RequestDetailResponse } },
  errors: [...adminErrors, 404],
};

export const RequestListRoute = (): MethodDecorator =>
  applyDecorators(
    ApiRoute(listDocument),
    PageQuery(),
    ApiQuery({
      name: 'id',
      required: false,
      schema: { type: 'string', maxLength: 200 },
      description: 'A request id, or a queue id.',
    }),
    ApiQuery({
      name: 'state',
      required: false,
      schema: { type: 'string', enum: [...requestStates] },
      description: 'One state.',
    }),
    KeyAndModelQuery(),
    ScopeQuery(),
    DayRangeQuery(),
  );

export const RequestRoute = (): MethodDecorator =>
  applyDecorators(ApiRoute(showDocument), ApiParam({ name: 'id', type: String, example: '8f3a1b2c4d5e6f70-SLC' }));
