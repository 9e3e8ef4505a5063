import { PlatformError } from '#common';
import type { ModelManifest, ModelType } from '../manifest/index.js';
import { type DeprecationNotice, deprecationNotice, remapNotice } from './deprecation.js';
import { parseModelName } from './model-name.js';
import type { RegistrySnapshot } from './registry-snapshot.js';

export interface ResolveRequest {
  /** The raw `model` field: registry id, trait or alias, with or without a feature suffix. */
  name: string;
  /** Type that the route needs; traits and aliases are resolved among models of this type. */
  type: ModelType;
  /** Two-letter country code of the client, if known. */
  region?: string;
  /** True for accounts with access to closed betas. */
  betaAccess?: boolean;
  /** True to resolve a model that no worker serves; for quotes and for jobs that may wait. */
  allowOffline?: boolean;
}

export interface ResolvedModel {
  manifest: ModelManifest;
  /** How the name was resolved. */
  resolvedBy: 'id' | 'trait' | 'alias' | 'remap';
  /** Raw pairs of the feature suffix; the modality validates them, and the body overrides them. */
  suffix: Record<string, string>;
  deprecation: DeprecationNotice | null;
  offline: boolean;
  /** True if the operator took it offline; a served model may be offline too. */
  disabled: boolean;
}

/**
 * Resolves the model of a request. Fails with `MODEL_NOT_FOUND` (404), `INVALID_MODEL` (400, a model of another kind),
 * `MODEL_RETIRED` (410), `UNAUTHORIZED` (403, region or closed beta) and `MODEL_OFFLINE` (503).
 */
export function resolveModel(snapshot: RegistrySnapshot, request: ResolveRequest): ResolvedModel {
  const { name, suffix } = parseModelName(request.name);
  const found = lookUp(snapshot, name, request.type);
  assertKind(found.manifest, request.type);
  const { manifest, remapped } = followRemap(snapshot, found.manifest);
  assertKind(manifest, request.type);
  assertAllowed(manifest, request);
  const offline = snapshot.isOffline(manifest.id);
  if (offline && !request.allowOffline) {
    throw new PlatformError('MODEL_OFFLINE', `The model ${manifest.id} is offline. Try again later.`, 'model');
  }
  return {
    manifest,
    resolvedBy: remapped ? 'remap' : found.by,
    suffix,
    deprecation: remapped ? remapNotice(found.manifest, manifest.id) : deprecationNotice(manifest, snapshot.nowMs),
    offline,
    disabled: snapshot.isDisabled(manifest.id),
  };
}

function lookUp(
  snapshot: RegistrySnapshot,
  name: string,
  type: ModelType,
): { manifest: ModelManifest; by: 'id' | 'trait' | 'alias' } {
  const byId = snapshot.find(name);
  if (byId) return { manifest: byId, by: 'id' };
  for (const by of ['trait', 'alias'] as const) {
    const manifest = snapshot.resolveName(by, type, name);
    if (manifest) return { manifest, by };
  }
  // The client's text is quoted back but truncated, because it may be megabytes.
  const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  throw new PlatformError('MODEL_NOT_FOUND', `The model ${shown} does not exist.`, 'model');
}

function assertKind(manifest: ModelManifest, type: ModelType): void {
  if (manifest.type === type) return;
  const message = `The model ${manifest.id} is of type ${manifest.type}; this route needs one of type ${type}.`;
  throw new PlatformError('INVALID_MODEL', message, 'model');
}

function followRemap(
  snapshot: RegistrySnapshot,
  manifest: ModelManifest,
): { manifest: ModelManifest; remapped: boolean } {
  const answering = snapshot.activeModelFor(manifest);
  if (answering) return { manifest: answering, remapped: answering !== manifest };
  const { removesAt = '', replacementModelId } = manifest.deprecation ?? {};
  const instead = replacementModelId ? ` Use ${replacementModelId} instead.` : '';
  throw new PlatformError('MODEL_RETIRED', `The model ${manifest.id} was removed on ${removesAt}.${instead}`, 'model');
}

function assertAllowed(manifest: ModelManifest, { region, betaAccess }: ResolveRequest): void {
  if (region !== undefined && manifest.regionRestrictions?.includes(region.toUpperCase()) === false) {
    throw new PlatformError('UNAUTHORIZED', `The model ${manifest.id} is not available in your region.`, 'model');
  }
  if (manifest.beta && !betaAccess) {
    throw new PlatformError('UNAUTHORIZED', `The model ${manifest.id} is in closed beta.`, 'model');
  }
}
