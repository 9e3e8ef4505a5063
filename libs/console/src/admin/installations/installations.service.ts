import { isUuid, PlatformError } from '#common';
import { ModelRegistryService } from '#model-registry';
import {
  type Installation,
  type InstallationPosition,
  InstallationRepository,
  type InstallationState,
  type Installer,
  isOpen,
} from '#model-registry/installations';
import { bundledManifestFolder, loadManifestFolder, type ModelManifest } from '#model-registry/manifest';
import type { CatalogEntry } from '#model-store/catalog';
import { Injectable } from '#platform/injection';
import type { InstallModelRequest } from './install-model.request.js';
import type { InstallableModelResponse, InstallableModelsResponse } from './installations.response.js';
import { readInstallation } from './read-reference.js';

const noInstaller =
  'No process installs models here. Set SLUICE_MODEL_INSTALLS=true for an ops process that can write the model store of ' +
  'the workers (SLUICE_HOME), or use `sluice models pull` and `sluice models add` there.';

/** Open models of this release, with the size that their published figures give. */
interface KnownModels {
  bundled: ModelManifest[];
  open: { entry: CatalogEntry; bytes: number }[];
}

/** Installations as operators ask for them; processes with a model store carry them out. */
@Injectable()
export class InstallationsService {
  private known: Promise<KnownModels> | null = null;

  constructor(
    private readonly repository: InstallationRepository,
    private readonly registry: ModelRegistryService,
  ) {}

  /**
   * Rejects with `INVALID_REQUEST` that names the field, and with `SERVICE_UNAVAILABLE` where no process installs
   * models.
   */
  async create(request: InstallModelRequest, apiKeyId: string): Promise<Installation> {
    const [installers, { bundled, open }, inventory] = await Promise.all([
      this.repository.installers(),
      this.knownModels(),
      this.registry.inventory(),
    ]);
    const manifests = new Set([...bundled, ...inventory.map(({ manifest }) => manifest)].map(({ id }) => id));
    const catalog = new Set(open.map(({ entry }) => entry.id));
    const installation = readInstallation(request, { manifests, catalog }, installers);
    assertInstaller(installers);
    const created = await this.repository.insert(installation, apiKeyId);
    if (created !== null) return created;
    const message = `${installation.reference} is being installed already.`;
    throw new PlatformError('INVALID_REQUEST', message, 'reference');
  }

  page(
    filter: { state: InstallationState | null },
    after: InstallationPosition | null,
    limit: number,
  ): Promise<Installation[]> {
    return this.repository.page(filter, after, limit);
  }

  /** Rejects with `NOT_FOUND`. */
  async find(id: string): Promise<Installation> {
    const found = isUuid(id) ? await this.repository.find(id) : null;
    if (found === null) throw new PlatformError('NOT_FOUND', 'There is no such installation.', 'id');
    return found;
  }

  /** Rejects with `INVALID_REQUEST` if it has ended. One that is cancelled already stays so. */
  async cancel(id: string): Promise<Installation> {
    const before = await this.find(id);
    if (before.state === 'cancelled' || (await this.repository.cancel(id))) return this.find(id);
    const { state } = await this.find(id);
    const reason = isOpen(state) ? 'is being registered' : 'has ended';
    throw new PlatformError('INVALID_REQUEST', `This installation ${reason} and cannot be cancelled.`, 'id');
  }

  /** Rejects with `INVALID_REQUEST` unless it failed or was cancelled, and while its reference is being installed. */
  async retry(id: string): Promise<Installation> {
    const { state, reference } = await this.find(id);
    assertInstaller(await this.repository.installers());
    if (await this.repository.retry(id)) return this.find(id);
    const hasFailed = state === 'failed' || state === 'cancelled';
    const message = hasFailed
      ? `${reference} is being installed already.`
      : 'Only an installation that failed or was cancelled can be tried again.';
    throw new PlatformError('INVALID_REQUEST', message, 'id');
  }

  /** Bundled models, then open ones. */
  async catalog(): Promise<InstallableModelsResponse> {
    const [installers, { bundled, open }] = await Promise.all([this.repository.installers(), this.knownModels()]);
    const installed = new Set(installers.flatMap((installer) => installer.installed));
    return {
      installers: installers.map(({ host, importFolder, freeBytes }) => ({ host, importFolder, freeBytes })),
      hint: installers.length === 0 ? noInstaller : null,
      data: [
        ...bundled.map((manifest) => presentBundled(manifest, installed)),
        ...open.map(({ entry, bytes }) => presentOpen(entry, bytes, installed)),
      ],
    };
  }

  /** Read once: they are files of the release. */
  private knownModels(): Promise<KnownModels> {
    this.known ??= readKnownModels().catch((error: unknown) => {
      this.known = null;
      throw error;
    });
    return this.known;
  }
}

function assertInstaller(installers: readonly Installer[]): void {
  if (installers.length === 0) throw new PlatformError('SERVICE_UNAVAILABLE', noInstaller);
}

async function readKnownModels(): Promise<KnownModels> {
  // Loaded on demand: few requests need the catalog.
  const { catalogMemory, loadCatalog } = await import('#model-store/catalog');
  const [bundled, entries] = await Promise.all([
    loadManifestFolder(bundledManifestFolder(), () => undefined),
    loadCatalog(),
  ]);
  const ids = new Set(bundled.map(({ id }) => id));
  const open = entries
    .filter(({ id }) => !ids.has(id))
    .map((entry) => ({ entry, bytes: Math.round(catalogMemory(entry).weightsBytes) }));
  return { bundled, open };
}

function presentBundled(manifest: ModelManifest, installed: ReadonlySet<string>): InstallableModelResponse {
  const { id, name, type, description, license, installedBytes } = manifest;
  return {
    ...{ id, name, license, kind: type, about: description, origin: 'bundled', gated: false },
    sizeBytes: installedBytes ?? null,
    installed: installed.has(id),
  };
}

function presentOpen(entry: CatalogEntry, bytes: number, installed: ReadonlySet<string>): InstallableModelResponse {
  const { id, name, purpose, about, license, gated = false } = entry;
  return {
    ...{ id, name, about, license, gated, kind: purpose, origin: 'open' },
    sizeBytes: bytes,
    installed: installed.has(id),
  };
}
