import type { JobQuote } from '#billing';
import { formatNanos } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { RequestCaller } from '#platform/http';

/** Returns the headers of an inference response that name the model. */
export function modelHeaders({
  manifest,
  deprecation,
}: Pick<ResolvedModel, 'manifest' | 'deprecation'>): Record<string, string> {
  const headers: Record<string, string> = {
    'x-service-model-id': manifest.id,
    'x-service-model-name': headerText(manifest.name),
  };
  if (deprecation === null) return headers;
  headers['x-service-model-deprecation-warning'] = headerText(deprecation.warning);
  headers['x-service-model-deprecation-date'] = headerText(deprecation.date);
  return headers;
}

/** Returns the headers that say which worker runs a job and whether it was retried. */
export function backendHeaders({
  servedBy,
  retries,
}: {
  servedBy: string | null;
  retries: number;
}): Record<string, string> {
  return {
    ...(servedBy !== null && { 'x-service-model-router': headerText(servedBy) }),
    ...(retries > 0 && { 'x-retry-count': String(retries) }),
  };
}

/** Returns headers that name the successor of a deprecated model. */
export function replacementHeaders({ manifest, resolvedBy, deprecation }: ResolvedModel): Record<string, string> {
  if (deprecation === null) return {};
  // Once a model is removed, the manifest is that of its successor.
  const replacement = resolvedBy === 'remap' ? manifest.id : manifest.deprecation?.replacementModelId;
  return {
    'x-service-deprecated': 'true',
    ...(replacement === undefined ? {} : { 'x-service-deprecated-replacement': replacement }),
  };
}

/** `modelHeaders` and `replacementHeaders` of a deprecated model in the OpenAPI document. */
export const deprecationHeaders = {
  'x-service-model-deprecation-warning': { description: 'The model will be removed.', schema: { type: 'string' } },
  'x-service-model-deprecation-date': { description: 'When.', schema: { type: 'string', format: 'date-time' } },
  'x-service-deprecated': { description: 'The model will be removed.', schema: { type: 'string', enum: ['true'] } },
  'x-service-deprecated-replacement': { description: 'The model to use instead.', schema: { type: 'string' } },
};

/**
 * Returns the balance headers: what the caller could spend before this request. Wallets also get a header of their own.
 */
export function balanceHeaders(
  { balanceBefore }: Pick<JobQuote, 'balanceBefore'>,
  caller: Pick<RequestCaller, 'wallet'> | null,
): Record<string, string> {
  if (balanceBefore === null) return {};
  const { usdNano, diemNano } = balanceBefore;
  return {
    'x-service-balance-usd': formatNanos(usdNano),
    'x-service-balance-diem': formatNanos(diemNano),
    ...(caller?.wallet !== undefined && { 'x-balance-remaining': formatNanos(usdNano) }),
  };
}

/**
 * Returns printable ASCII, as header values are: compatibility forms lose their style and accents (`U²-Net` becomes
 * `U2-Net`); other characters are percent-encoded UTF-8.
 */
export function headerText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\x20-\x7e]/gu, (character) => encodeURIComponent(character.toWellFormed()));
}
