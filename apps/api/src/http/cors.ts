/** What the contract's routes answer to; the plugin's own default knows neither PATCH nor DELETE. */
const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/**
 * What scripts of other origins may read, when an operator lets them in: every header that an answer of the api can
 * have, but those that only browsers heed and those that scripts may read anyway. `test/architecture` looks for others.
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
  'retry-after',
  'sunset',
  'x-next-cursor',
  'x-ratelimit-limit-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
  'x-ratelimit-type',
  'x-service-balance-diem',
  'x-service-balance-usd',
  'x-service-contains-minor',
  'x-service-deprecated',
  'x-service-deprecated-replacement',
  'x-service-enhanced-prompt',
  'x-service-is-adult-model-content-violation',
  'x-service-is-blurred',
  'x-service-is-content-violation',
  'x-service-model-deprecation-date',
  'x-service-model-deprecation-warning',
  'x-service-model-id',
  'x-service-model-name',
  'x-service-model-router',
  'x-service-progress-percent',
  'x-service-version',
  'x-should-retry',
] as const;

/** What scripts of these origins may do and read; credentials travel in a header that they set themselves. */
export function corsOptions(origins: string[]) {
  return { origin: origins, methods, exposedHeaders: [...exposedHeaders] };
}
