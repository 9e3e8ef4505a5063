import { PlatformError } from '#common';
import type { RunMemory } from '#model-memory';
import { type ModelManifest, modelTypes, type ModelType } from '../manifest/index.js';
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
  /** True if the name comes from `inputAdapters` of a manifest, which may name internal models. */
  isAdapter?: boolean;
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
  /** What one run may take on the workers that serve it; null where no size is too large. */
  runMemory: RunMemory | null;
}

/**
 * Resolves the model of a request. Fails with `MODEL_NOT_FOUND` (404), `INVALID_MODEL` (400, a model of another kind),
 * `MODEL_RETIRED` (410), `UNAUTHORIZED` (403, region or closed beta) and `MODEL_OFFLINE` (503).
 */
export function resolveModel(snapshot: RegistrySnapshot, request: ResolveRequest): ResolvedModel {
  const { name, suffix } = parseModelName(request.name);
  const found = lookUp(snapshot, name, request);
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
    runMemory: snapshot.runMemory(manifest.id),
  };
}

function lookUp(
  snapshot: RegistrySnapshot,
  name: string,
  { type, isAdapter = false }: ResolveRequest,
): { manifest: ModelManifest; by: 'id' | 'trait' | 'alias' } {
  const byId = isAdapter ? snapshot.findAdapter(name) : snapshot.find(name);
  if (byId) return { manifest: byId, by: 'id' };
  for (const by of ['trait', 'alias'] as const) {
    const manifest = snapshot.resolveName(by, type, name);
    if (manifest) return { manifest, by };
  }
  throw unknownModel(name);
}

/** The client's text is quoted back but truncated, because it may be megabytes. */
function unknownModel(name: string): PlatformError {
  const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  return new PlatformError('MODEL_NOT_FOUND', `The model ${shown} does not exist.`, 'model');
}

/** Most names are those of text models; a trait that several types have, such as `default`, is theirs. */
const typesByUse: readonly ModelType[] = ['text', ...modelTypes];

/** Finds the model that a name means, whatever its type. Fails with `MODEL_NOT_FOUND` and `MODEL_RETIRED`. */
export function resolveAnyModel(snapshot: RegistrySnapshot, text: string): ModelManifest {
  const { name } = parseModelName(text);
  const named = (['trait', 'alias'] as const).flatMap((by) =>
    typesByUse.map((type) => snapshot.resolveName(by, type, name)),
  );
  const found = snapshot.find(name) ?? named.find((manifest) => manifest !== null);
  if (!found) throw unknownModel(name);
  return followRemap(snapshot, found).manifest;
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
