import type { JobQuote } from '#billing';
import { formatNanos } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { JobRun } from './job-stream.js';

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
export function backendHeaders({ servedBy, retries }: JobRun): Record<string, string> {
  return {
    ...(servedBy !== null && { 'x-service-model-router': headerText(servedBy) }),
    ...(retries > 0 && { 'x-retry-count': String(retries) }),
  };
}

/** Returns the balance headers: what the caller could spend before this request. */
export function balanceHeaders({ balanceBefore }: Pick<JobQuote, 'balanceBefore'>): Record<string, string> {
  if (balanceBefore === null) return {};
  return {
    'x-service-balance-usd': formatNanos(balanceBefore.usdNano),
    'x-service-balance-diem': formatNanos(balanceBefore.diemNano),
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
