import { PlatformError } from '#common';
import { isGlobalAddress } from '#egress';
import { assertPool } from '#model-registry';
import type { Installer, InstallationRequest } from '#model-registry/installations';
import { importPath, isManifestPath, type ModelReference, parseReference, unknownSource } from '#model-store/reference';
import type { InstallModelRequest } from './install-model.request.js';

/** Options that a manifest states itself. */
const draftOptions = [
  'id',
  'name',
  'tier',
  'weights',
  'contextLength',
  'purpose',
  'pooling',
  'base',
  'inputPriceUsd',
  'outputPriceUsd',
] as const;

const optionNames = new Set<string>([...draftOptions, 'pool']);

const idForm = /^[a-z0-9][a-z0-9._-]*$/;
const idMessage = 'id may hold a-z, 0-9, ".", "_" and "-", and starts with a letter or digit.';

/** The models that are known by their id: those with a manifest, and those of the catalog. */
interface KnownIds {
  manifests: ReadonlySet<string>;
  catalog: ReadonlySet<string>;
}

/**
 * Checks a request as far as that is possible without the disk of the model store and without other hosts. Throws
 * `INVALID_REQUEST` that names the field, with the sentence of the command line.
 */
export function readInstallation(
  { reference: written, ...fields }: InstallModelRequest,
  known: KnownIds,
  installers: readonly Installer[],
): InstallationRequest {
  const stray = Object.keys(fields).find((name) => !optionNames.has(name));
  if (stray !== undefined) throw fieldFault(stray, `${stray} is no field of this request.`);
  const reference = written.trim();
  const parsed = withField('reference', () => parseReference(reference));
  assertKnown(reference, parsed, known);
  if (parsed.kind === 'source') assertPublic(parsed.url);
  if (parsed.kind === 'path') assertBelowImportFolder(parsed.path, installers);
  const options = Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
  if (hasManifest(parsed, known)) refuseDraftOptions(options);
  if (fields.id !== undefined && fields.id !== null && !idForm.test(fields.id)) throw fieldFault('id', idMessage);
  const { pool } = fields;
  if (pool !== undefined && pool !== null) withField('pool', () => assertPool(pool));
  return { reference, options };
}

function assertKnown(reference: string, parsed: ModelReference, known: KnownIds): void {
  if (parsed.kind !== 'id' || known.manifests.has(parsed.id) || known.catalog.has(parsed.id)) return;
  throw fieldFault('reference', unknownSource(reference).message);
}

/** Names are looked up when they are reached; an address can be refused at once. */
function assertPublic(url: URL | null): void {
  const host = url?.hostname.replace(/^\[(.*)\]$/, '$1') ?? '';
  const isAddress = /^[\d.]+$|:/.test(host);
  if (host === 'localhost' || (isAddress && !isGlobalAddress(host))) {
    throw fieldFault('reference', `${host} leads to an address that is not public.`);
  }
}

function assertBelowImportFolder(path: string, installers: readonly Installer[]): void {
  // Any of them may take the installation.
  for (const { importFolder } of installers) withField('reference', () => importPath(importFolder, path));
}

function hasManifest(parsed: ModelReference, { manifests }: KnownIds): boolean {
  if (parsed.kind === 'id') return manifests.has(parsed.id);
  return parsed.kind === 'path' && isManifestPath(parsed.path);
}

function refuseDraftOptions(options: Record<string, unknown>): void {
  const stray = draftOptions.find((name) => options[name] !== undefined);
  if (stray !== undefined) throw fieldFault(stray, `${stray} is stated by the manifest of this model.`);
}

function withField<Result>(field: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    throw fieldFault(field, error.message, error);
  }
}

function fieldFault(field: string, message: string, cause?: unknown): PlatformError {
  const issues = [{ code: 'invalid_value', path: [field], message }];
  return new PlatformError('INVALID_REQUEST', message, field, { issues, cause });
}
