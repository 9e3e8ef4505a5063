import { type Clock, PlatformError, systemClock } from '#common';
import { maxRunPixels } from '#model-memory';
import { Injectable, Optional } from '#platform/injection';
import type { ModelManifest, ModelType } from '../manifest/index.js';
import { withMadeFormats } from '../manifest/voice-members.js';
import { type PresentedModel, presentModel } from '../manifest/model.presenter.js';
import { CompatibleNames } from './compatible-names.js';
import { ModelRepository, type RegistryContent } from './model.repository.js';
import { OnlineModels } from './online-models.js';
import { OutputFormats } from './output-formats.js';
import { type NameKind, RegistrySnapshot } from './registry-snapshot.js';
import { WebProviders } from './web-providers.js';
import { resolveAnyModel, type ResolvedModel, resolveModel, type ResolveRequest } from './resolve-model.js';

/** `type` filter of the API: nine kinds, all of them, and text models for code. */
export type ModelFilter = ModelType | 'all' | 'code';

export interface ModelRegistryOptions {
  clock?: Clock;
  /** Maximum age of cached registry content, in ms. Default 2,000. */
  cacheMs?: number;
}

/** Model registry: lists models, resolves names, and decides which models are available. */
@Injectable()
export class ModelRegistryService {
  private readonly clock: Clock;
  private readonly cacheMs: number;
  private cached: { content: RegistryContent; readMs: number } | null = null;
  private reading: Promise<RegistryContent> | null = null;

  constructor(
    private readonly repository: ModelRepository,
    private readonly online: OnlineModels,
    @Optional() options: ModelRegistryOptions = {},
    @Optional() private readonly formats?: OutputFormats,
    @Optional() private readonly web?: WebProviders,
    @Optional() private readonly compatible?: CompatibleNames,
  ) {
    this.clock = options.clock ?? systemClock;
    this.cacheMs = options.cacheMs ?? 2_000;
  }

  /** Resolves the model of a request; rejects like `resolveModel`. */
  async resolve(request: ResolveRequest): Promise<ResolvedModel> {
    return resolveModel(await this.snapshot(), request);
  }

  /** Returns the manifest of a registry id; null if it was removed. */
  async find(id: string): Promise<ModelManifest | null> {
    return (await this.snapshot()).find(id) ?? null;
  }

  /** Returns the entries of `GET /models`. */
  async list(filter: ModelFilter): Promise<PresentedModel[]> {
    const snapshot = await this.snapshot();
    const listed = snapshot.listed().filter((manifest) => matches(manifest, filter));
    return listed.map((manifest) => this.present(snapshot, manifest));
  }

  /**
   * Returns the entry of the model that an id, trait or alias means in requests, of whatever type. Rejects with
   * `MODEL_NOT_FOUND`, and with `MODEL_RETIRED` where nothing replaces a removed one.
   */
  async describe(name: string): Promise<PresentedModel> {
    const snapshot = await this.snapshot();
    return this.present(snapshot, resolveAnyModel(snapshot, name));
  }

  /** Returns traits or aliases of one kind of models, with the id that each currently resolves to. */
  async names(kind: NameKind, type: ModelType): Promise<Record<string, string>> {
    const names = (await this.snapshot()).namesOf(kind, type);
    return Object.fromEntries([...names].map(([name, { id }]) => [name, id]));
  }

  /** Returns every manifest with its state, including retired ones; for the operator. */
  async inventory(): Promise<{ manifest: ModelManifest; disabled: boolean }[]> {
    return (await this.read()).models;
  }

  /** Writes manifests into the registry; unchanged ones have no effect. Returns the changed ids. */
  async upsert(manifests: readonly ModelManifest[]): Promise<string[]> {
    const changed: string[] = [];
    for (const manifest of manifests) {
      if (await this.repository.upsert(manifest)) changed.push(manifest.id);
    }
    this.forget();
    return changed;
  }

  /** Removes a model from the registry. Rejects with `MODEL_NOT_FOUND`. */
  async remove(id: string): Promise<void> {
    if (!(await this.repository.remove(id))) throw notFound(id);
    this.forget();
  }

  /** Takes a model offline for clients, or back online. Rejects with `MODEL_NOT_FOUND`. */
  async setDisabled(id: string, disabled: boolean): Promise<void> {
    if (!(await this.repository.setDisabled(id, disabled))) throw notFound(id);
    this.forget();
  }

  private async snapshot(): Promise<RegistrySnapshot> {
    return new RegistrySnapshot(this.offered(await this.read()), this.online, this.clock.nowMs(), this.compatible);
  }

  /** Clients see and use no format that cannot be made here. */
  private offered(content: RegistryContent): RegistryContent {
    const { formats } = this;
    if (formats === undefined) return content;
    const canMake = (format: string): boolean => formats.canMake(format);
    const models = content.models.map((row) => ({ ...row, manifest: withMadeFormats(row.manifest, canMake) }));
    return { ...content, models };
  }

  private async read(): Promise<RegistryContent> {
    if (this.cached && this.clock.monotonicMs() - this.cached.readMs < this.cacheMs) return this.cached.content;
    // Concurrent callers share one query.
    this.reading ??= this.refresh().finally(() => (this.reading = null));
    return this.reading;
  }

  private async refresh(): Promise<RegistryContent> {
    try {
      const content = await this.repository.readAll();
      this.cached = { content, readMs: this.clock.monotonicMs() };
      return content;
    } catch (error) {
      // Models change rarely. While the database is unavailable, admission rejects requests.
      if (this.cached) return this.cached.content;
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The model registry cannot be read now.', null, { cause: error });
    }
  }

  private present(snapshot: RegistrySnapshot, manifest: ModelManifest): PresentedModel {
    const run = snapshot.runMemory(manifest.id);
    return presentModel(manifest, {
      offline: snapshot.isOffline(manifest.id),
      traits: traitsOf(snapshot, manifest),
      hearsByAdapter: hearsByAdapter(snapshot, manifest),
      canSearch: this.web?.canSearch ?? false,
      canSearchX: this.web?.hasProvider(manifest.xSearchProvider ?? '') ?? false,
      isAttested: this.online.isAttested(manifest.id),
      maxPixels: run === null ? null : maxRunPixels(run),
    });
  }

  private forget(): void {
    this.cached = null;
  }
}

function matches(manifest: ModelManifest, filter: ModelFilter): boolean {
  if (filter === 'all') return true;
  if (filter === 'code') return manifest.type === 'text' && manifest.capabilities.optimizedForCode;
  return manifest.type === filter;
}

/** The traits that currently resolve to this model, not all that it declares. */
function traitsOf(snapshot: RegistrySnapshot, { id, type }: ModelManifest): string[] {
  return [...snapshot.namesOf('trait', type)].filter(([, target]) => target.id === id).map(([name]) => name);
}

function hearsByAdapter(snapshot: RegistrySnapshot, { inputAdapters }: ModelManifest): boolean {
  const adapter = snapshot.find(inputAdapters?.audio ?? '');
  return adapter?.type === 'asr' && !snapshot.isOffline(adapter.id);
}

function notFound(id: string): PlatformError {
  return new PlatformError('MODEL_NOT_FOUND', `The registry has no model ${id}.`, 'model');
}
