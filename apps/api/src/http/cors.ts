/** Methods that the API supports. The plugin's default lacks PATCH and DELETE. */
const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/**
 * Response headers exposed to allowed origins: all that the API can send, except those that only browsers use and those
 * that are always readable. `test/architecture` checks that the list is complete.
 */
export const exposedHeaders = [
  'accept-ranges',
  'allow',
  'cf-ray',
  'content-disposition',
  'content-range',
  'deprecation',
  'idempotent-replayed',
  'link',
  'payment-required',
  'payment-response',
  'request-id',
  'retry-after',
  'sunset',
  'x-balance-remaining',
  'x-next-cursor',
  'x-pagination-limit',
  'x-pagination-page',
  'x-pagination-total',
  'x-pagination-total-pages',
  'x-ratelimit-limit',
  'x-ratelimit-limit-concurrent',
  'x-ratelimit-limit-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining',
  'x-ratelimit-remaining-concurrent',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
  'x-ratelimit-type',
  'x-request-id',
  'x-retry-count',
  'x-service-balance-diem',
  'x-service-balance-usd',
  'x-service-control-instance',
  'x-service-deprecated',
  'x-service-deprecated-replacement',
  'x-service-enhanced-prompt',
  'x-service-host-name',
  'x-service-input-adapter',
  'x-service-is-blurred',
  'x-service-is-content-violation',
  'x-service-middleface-version',
  'x-service-mobile-version',
  'x-service-model-deprecation-date',
  'x-service-model-deprecation-warning',
  'x-service-model-id',
  'x-service-model-name',
  'x-service-model-router',
  'x-service-progress-percent',
  'x-service-queued-reason',
  'x-service-request-timestamp-ms',
  'x-service-rpc-cost-usd',
  'x-service-rpc-credits',
  'x-service-tee-warning',
  'x-service-timestamp',
  'x-service-version',
  'x-should-retry',
] as const;

/** CORS options for the allowed origins. Credentials travel in a header that scripts set themselves, not in cookies. */
export function corsOptions(origins: string[]) {
  return { origin: origins, methods, exposedHeaders: [...exposedHeaders] };
}
