import type { JobQuote } from '#billing';
import { formatNanos } from '#common';
import type { ResolvedModel } from '#model-registry';

/** The headers of an inference answer that name the model (contract 19 and 20). */
export function modelHeaders({ manifest, resolvedBy, deprecation }: ResolvedModel): Record<string, string> {
  const headers: Record<string, string> = {
    'x-service-model-id': manifest.id,
    'x-service-model-name': headerText(manifest.name),
    'x-service-model-router': resolvedBy,
  };
  if (deprecation === null) return headers;
  headers['x-service-model-deprecation-warning'] = headerText(deprecation.warning);
  headers['x-service-model-deprecation-date'] = headerText(deprecation.date);
  return headers;
}

/** What the caller could spend before this request (contract 19). */
export function balanceHeaders({ balanceBefore }: Pick<JobQuote, 'balanceBefore'>): Record<string, string> {
  if (balanceBefore === null) return {};
  return {
    'x-service-balance-usd': formatNanos(balanceBefore.usdNano),
    'x-service-balance-diem': formatNanos(balanceBefore.diemNano),
  };
}

/** Headers carry printable ASCII; names may hold anything. */
function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
