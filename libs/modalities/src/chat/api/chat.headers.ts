import type { ModelDeprecation } from '#model-registry/manifest';

/** The headers of an inference answer that name the model (contract 19 and 20). Values are safe for a header. */
export function modelHeaders(
  model: { id: string; name: string; deprecation: ModelDeprecation | null },
  nowMs: number,
): Record<string, string> {
  const headers: Record<string, string> = {
    'x-service-model-id': model.id,
    'x-service-model-name': encodeHeader(model.name),
    'x-service-model-router': 'sluice',
  };
  const { deprecation } = model;
  const started = deprecation !== null && Date.parse(deprecation.startsAt ?? deprecation.date) <= nowMs;
  if (deprecation === null || !started) return headers;
  const replacement = deprecation.replacementModelId;
  const advice = replacement === undefined ? '' : ` Use ${replacement} instead.`;
  headers['x-service-model-deprecation-warning'] = encodeHeader(`The model ${model.id} is deprecated.${advice}`);
  headers['x-service-model-deprecation-date'] = deprecation.date;
  return headers;
}

/** Headers carry printable ASCII; names may hold anything. */
function encodeHeader(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
