import type { ModelDeprecation, ModelManifest } from '../manifest/manifest.js';

/** Deprecation notice for clients, sent in headers. */
export interface DeprecationNotice {
  /** One sentence for `x-service-model-deprecation-warning`. */
  warning: string;
  /** ISO date for `x-service-model-deprecation-date`. */
  date: string;
}

/** Returns true from `removesAt` on: the model is no longer listed. */
export function isRetired({ deprecation }: ModelManifest, nowMs: number): boolean {
  return deprecation !== undefined && Date.parse(deprecation.removesAt) <= nowMs;
}

/** Returns null before `startsAt`, and for models without a deprecation. */
export function deprecationNotice({ id, deprecation }: ModelManifest, nowMs: number): DeprecationNotice | null {
  if (!deprecation || !hasStarted(deprecation, nowMs)) return null;
  const { date, replacementModelId } = deprecation;
  const instead = replacementModelId ? ` Use ${replacementModelId} instead.` : '';
  return { warning: `The model ${id} will be removed on ${date}.${instead}`, date };
}

/** Returns the notice of a response from the replacement of a removed model. */
export function remapNotice({ id, deprecation }: ModelManifest, answeringId: string): DeprecationNotice {
  const date = deprecation?.date ?? '';
  return { warning: `The model ${id} was removed on ${date}; ${answeringId} is used instead.`, date };
}

function hasStarted({ startsAt }: ModelDeprecation, nowMs: number): boolean {
  return startsAt === undefined || Date.parse(startsAt) <= nowMs;
}
