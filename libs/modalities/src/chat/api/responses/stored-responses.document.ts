import type { DocumentedRoute } from '#platform/http';
import { ResponsesResponse } from '../../contract/responses/responses.response.js';
import { DeletedResponse, ResponsesItemList } from '../../contract/responses/responses.stored.js';

/* OpenAPI document of the routes for stored responses. */

const common = { tags: ['Responses (Alpha)'], envelope: 'openai', errors: [400, 401, 404, 429, 500, 503] } as const;
const kept = 'Only responses of this account that were created with `store: true`, until their time is over.';

export const findResponseDocument: DocumentedRoute = {
  ...common,
  tags: [...common.tags],
  errors: [...common.errors],
  operationId: 'getResponse',
  summary: 'Get a stored response',
  description: kept,
  responses: { 200: { description: 'The response.', json: ResponsesResponse } },
};

export const listItemsDocument: DocumentedRoute = {
  ...common,
  tags: [...common.tags],
  errors: [...common.errors],
  operationId: 'listResponseInputItems',
  summary: 'List the input items of a stored response',
  description: `The whole conversation that led to the response. ${kept}`,
  responses: { 200: { description: 'A page of items.', json: ResponsesItemList } },
};

export const deleteResponseDocument: DocumentedRoute = {
  ...common,
  tags: [...common.tags],
  errors: [...common.errors],
  operationId: 'deleteResponse',
  summary: 'Delete a stored response',
  description: 'Responses that continue it stay: each holds its whole conversation.',
  responses: { 200: { description: 'It is deleted.', json: DeletedResponse } },
};
