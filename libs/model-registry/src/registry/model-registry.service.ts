import { type Clock, PlatformError, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import { type ModelManifest, type ModelType, type PresentedModel, presentModel } from '../manifest/index.js';
import { ModelRepository, type RegistryContent } from './model.repository.js';
import { OnlineModels } from './online-models.js';
import { type NameKind, RegistrySnapshot } from './registry-snapshot.js';
import { type ResolvedModel, resolveModel, type ResolveRequest } from './resolve-model.js';

/** The contract's `type` filter: nine kinds, all of them, and text models made for code. */
export type ModelFilter = ModelType | 'all' | 'code';

export interface ModelRegistryOptions {
  clock?: Clock;
  /** How old the content of the database may be that requests are judged by. Default 2,000. */
  cacheMs?: number;
}

/** The registry: what there is, what a name means, and what may be asked now. */
@Injectable()
export class ModelRegistryService {
  private readonly repository: ModelRepository;
  private readonly clock: Clock;
  private readonly cacheMs: number;
  private cached: { content: RegistryContent; readMs: number } | null = null;
  private reading: Promise<RegistryContent> | null = null;

  constructor(
    prisma: PrismaService,
    private readonly online: OnlineModels,
    @Optional() options: ModelRegistryOptions = {},
  ) {
    this.repository = new ModelRepository(prisma);
    this.clock = options.clock ?? systemClock;
    this.cacheMs = options.cacheMs ?? 2_000;
  }

  /** The model a request means; see `resolveModel` for what it rejects with. */
  async resolve(request: ResolveRequest): Promise<ResolvedModel> {
    return resolveModel(await this.snapshot(), request);
  }

  /** The manifest of a registry id; null when it was removed. */
  async find(id: string): Promise<ModelManifest | null> {
    return (await this.snapshot()).find(id) ?? null;
  }

  /** Entries of `GET /models`. */
  async list(filter: ModelFilter): Promise<PresentedModel[]> {
    const snapshot = await this.snapshot();
    const listed = snapshot.listed().filter((manifest) => matches(manifest, filter));
    return listed.map((manifest) =>
      presentModel(manifest, { offline: snapshot.isOffline(manifest.id), traits: traitsOf(snapshot, manifest) }),
    );
  }

  /** Traits or foreign names of one kind of models, with the id each means now. */
  async names(kind: NameKind, type: ModelType): Promise<Record<string, string>> {
    const names = (await this.snapshot()).namesOf(kind, type);
    return Object.fromEntries([...names].map(([name, { id }]) => [name, id]));
  }

  /** Every manifest with its state, retired ones too; for the operator. */
  async inventory(): Promise<{ manifest: ModelManifest; disabled: boolean }[]> {
    return (await this.read()).models;
  }

  /** Writes manifests into the registry; those that say what it says already change nothing. Answers the changed ids. */
  async upsert(manifests: readonly ModelManifest[]): Promise<string[]> {
    const changed: string[] = [];
    for (const manifest of manifests) {
      if (await this.repository.upsert(manifest)) changed.push(manifest.id);
    }
    this.forget();
    return changed;
  }

  /** Takes a model out of the registry. Rejects with `MODEL_NOT_FOUND`. */
  async remove(id: string): Promise<void> {
    if (!(await this.repository.remove(id))) throw notFound(id);
    this.forget();
  }

  /** Takes a model offline for callers, or lets it back. Rejects with `MODEL_NOT_FOUND`. */
  async setDisabled(id: string, disabled: boolean): Promise<void> {
    if (!(await this.repository.setDisabled(id, disabled))) throw notFound(id);
    this.forget();
  }

  private async snapshot(): Promise<RegistrySnapshot> {
    return new RegistrySnapshot(await this.read(), this.online, this.clock.nowMs());
  }

  private async read(): Promise<RegistryContent> {
    if (this.cached && this.clock.monotonicMs() - this.cached.readMs < this.cacheMs) return this.cached.content;
    // One query for all who ask at once.
    this.reading ??= this.refresh().finally(() => (this.reading = null));
    return this.reading;
  }

  private async refresh(): Promise<RegistryContent> {
    try {
      const content = await this.repository.readAll();
      this.cached = { content, readMs: this.clock.monotonicMs() };
      return content;
    } catch (error) {
      // What a model is changes rarely; while the database is away, admission is what refuses work.
      if (this.cached) return this.cached.content;
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The model registry cannot be read now.', null, { cause: error });
    }
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

/** The traits that mean this model now, not those it would like to have. */
function traitsOf(snapshot: RegistrySnapshot, { id, type }: ModelManifest): string[] {
  return [...snapshot.namesOf('trait', type)].filter(([, replica]) => replica.id === id).map(([name]) => name);
}

function notFound(id: string): PlatformError {
  return new PlatformError('MODEL_NOT_FOUND', `The registry has no model ${id}.`, 'model');
}
