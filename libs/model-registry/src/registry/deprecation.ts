import type { ModelDeprecation, ModelManifest } from '../manifest/index.js';

/** What callers of a deprecated model are told, in headers (contract, section 20). */
export interface DeprecationNotice {
  /** One sentence for `x-service-model-deprecation-warning`. */
  warning: string;
  /** ISO date for `x-service-model-deprecation-date`. */
  date: string;
}

/** True from `removesAt` on: the model is not listed any more. */
export function isRetired({ deprecation }: ModelManifest, nowMs: number): boolean {
  return deprecation !== undefined && Date.parse(deprecation.removesAt) <= nowMs;
}

/** Null before `startsAt`, and for models that are here to stay. */
export function deprecationNotice({ id, deprecation }: ModelManifest, nowMs: number): DeprecationNotice | null {
  if (!deprecation || !hasStarted(deprecation, nowMs)) return null;
  const { date, replacementModelId } = deprecation;
  const instead = replacementModelId ? ` Use ${replacementModelId} instead.` : '';
  return { warning: `The model ${id} will be removed on ${date}.${instead}`, date };
}

/** The notice of an answer that another model gave, because the asked one is gone. */
export function remapNotice({ id, deprecation }: ModelManifest, answeringId: string): DeprecationNotice {
  const date = deprecation?.date ?? '';
  return { warning: `The model ${id} was removed on ${date}; ${answeringId} answers instead.`, date };
}

function hasStarted({ startsAt }: ModelDeprecation, nowMs: number): boolean {
  return startsAt === undefined || Date.parse(startsAt) <= nowMs;
}
