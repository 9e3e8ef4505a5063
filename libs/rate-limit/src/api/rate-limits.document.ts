import type { DocumentedRoute } from '#platform/http';
import { RateLimitLogResponse, RateLimitsResponse } from './rate-limit.response.js';

const common = {
  tags: ['API Keys'],
  security: 'inherited',
  errors: [401, 429, 500],
} satisfies Partial<DocumentedRoute>;

export const limitsDocument: DocumentedRoute = {
  ...common,
  operationId: 'getApiKeyRateLimits',
  summary: 'Show the limits and the balances of the caller',
  description: 'Requests and tokens per minute for each kind of model, and what the key can spend.',
  responses: { 200: { json: RateLimitsResponse } },
};

/** Both paths of the log. */
export function logDocument(operationId: string): DocumentedRoute {
  return {
    ...common,
    operationId,
    summary: 'List refused requests',
    description: 'The last 50 requests of the account that a limit refused, with the limit that did.',
    responses: { 200: { json: RateLimitLogResponse } },
  };
}
