import type { JobQuote } from '#billing';
import { formatNanos } from '#common';
import type { ResolvedModel } from '#model-registry';

/** Returns the headers of an inference response that name the model. */
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

/** Returns the balance headers: what the caller could spend before this request. */
export function balanceHeaders({ balanceBefore }: Pick<JobQuote, 'balanceBefore'>): Record<string, string> {
  if (balanceBefore === null) return {};
  return {
    'x-service-balance-usd': formatNanos(balanceBefore.usdNano),
    'x-service-balance-diem': formatNanos(balanceBefore.diemNano),
  };
}

/** Header values are printable ASCII; names may hold anything. */
function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
