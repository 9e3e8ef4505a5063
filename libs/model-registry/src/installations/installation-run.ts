import { PlatformError } from '#common';
import { fingerprintManifest, type ModelManifest } from '../manifest/index.js';
import type { PlacementService } from '../placement/placement.service.js';
import type { ModelRegistryService } from '../registry/model-registry.service.js';
import {
  type InstallationLease,
  type InstallationProgress,
  type InstallationState,
  leaseMs,
  stateOf,
} from './installation.js';
import type { InstallationRepository } from './installation.repository.js';
import type { InstallerMessage, InstallerProcess, LaunchInstaller } from './installer-process.js';

export interface RunDependencies {
  repository: InstallationRepository;
  registry: ModelRegistryService;
  placements: PlacementService;
  launch: LaunchInstaller;
  importFolder: string;
  /** Interval of reports while something changes, in ms. */
  reportMs: number;
}

/** Reports without a change: often enough that no other owner takes the installation over. */
const quietReports = 3;

const registering: InstallationProgress = { stage: 'register', file: null, done: 0, total: null, unit: 'steps' };

/** `lost`: cancelled, or taken over by another owner. `stopped`: this process ends. */
export type RunResult = 'installed' | 'failed' | 'lost' | 'stopped';

/** One attempt to install a model: a child process does the work, this side owns the row and the registry. */
export class InstallationRun {
  private state: InstallationState = 'pulling';
  private progress: InstallationProgress | null = null;
  private isChanged = false;
  private reportsLeft = 0;
  private reportedMs = performance.now();
  private reporting: Promise<void> | null = null;
  private readonly lost = new AbortController();

  constructor(
    private readonly dependencies: RunDependencies,
    private readonly lease: InstallationLease,
  ) {}

  /** Rejects when the database cannot be reached; the lease then expires, and an owner begins again. */
  async run(stop: AbortSignal): Promise<RunResult> {
    const { repository } = this.dependencies;
    const interrupted = AbortSignal.any([stop, this.lost.signal]);
    try {
      const manifest = await this.install(interrupted);
      if (manifest !== null && (await this.register(manifest))) return 'installed';
    } catch (error) {
      // The registry cannot be read: that says nothing about the model.
      if (!(error instanceof PlatformError) || error.code === 'SERVICE_UNAVAILABLE') throw error;
      const failure = { state: 'failed', code: error.code, message: error.message } as const;
      return (await repository.finish(this.lease, failure)) ? 'failed' : 'lost';
    }
    if (this.lost.signal.aborted || !stop.aborted) return 'lost';
    await repository.release(this.lease);
    return 'stopped';
  }

  /** Resolves to null when it was interrupted. */
  private async install(interrupted: AbortSignal): Promise<ModelManifest | null> {
    const { launch, importFolder } = this.dependencies;
    const { reference, options } = this.lease;
    const registered = (await this.findRegistered(reference)) ?? null;
    if (interrupted.aborted) return null;
    const child = launch();
    const timer = setInterval(() => this.reportNext(), this.dependencies.reportMs);
    const onInterrupt = (): void => void child.stop();
    interrupted.addEventListener('abort', onInterrupt, { once: true });
    try {
      const installed = this.follow(child);
      child.send({ type: 'install', job: { reference, options, registered, importFolder } });
      return await installed;
    } catch (error) {
      if (interrupted.aborted) return null;
      throw error;
    } finally {
      clearInterval(timer);
      interrupted.removeEventListener('abort', onInterrupt);
      await child.stop();
      // Its last report must not arrive behind what follows.
      await this.reporting;
    }
  }

  private follow(child: InstallerProcess): Promise<ModelManifest> {
    return new Promise<ModelManifest>((resolve, reject) => {
      child.onMessage((message) => {
        if (message.type === 'installed') resolve(message.manifest);
        else if (message.type === 'failed') reject(new PlatformError(message.code, message.message));
        else if (message.type === 'progress') this.note(message.progress);
        else this.accept(message).then(() => child.send({ type: 'continue' }), reject);
      });
      void child.ended.then((how) =>
        reject(new PlatformError('MODEL_PULL_FAILED', `The process that installs the model ended early (${how}).`)),
      );
    });
  }

  /** Replacing another model by accident would also replace its prices and aliases. */
  private async accept({ manifest, note }: Extract<InstallerMessage, { type: 'described' }>): Promise<void> {
    const { id } = manifest;
    const registered = await this.findRegistered(id);
    if (registered !== undefined && fingerprintManifest(registered) !== fingerprintManifest(manifest)) {
      const ways = `choose another id, or remove it first: sluice models remove ${id}`;
      throw new PlatformError('INVALID_REQUEST', `A model called ${id} is registered already; ${ways}.`, 'id');
    }
    if (!(await this.dependencies.repository.describe(this.lease, id, note))) this.lost.abort();
  }

  private note(progress: InstallationProgress): void {
    this.progress = progress;
    this.state = stateOf(progress.stage, this.state);
    this.isChanged = true;
  }

  /** One report at a time: a slow database gets no queue of them. */
  private reportNext(): void {
    this.reporting ??= this.report().finally(() => (this.reporting = null));
  }

  /** Renews the lease. While the database is away the work goes on, but not for longer than the lease lasts. */
  private async report(): Promise<void> {
    if (!this.isChanged && this.reportsLeft-- > 0) return;
    this.isChanged = false;
    this.reportsLeft = quietReports - 1;
    const startedMs = performance.now();
    try {
      if (await this.dependencies.repository.report(this.lease, this.state, this.progress)) this.reportedMs = startedMs;
      else this.lost.abort();
    } catch {
      // The next report tells again; another owner may have the installation by the time the lease is over.
      this.isChanged = true;
      if (performance.now() - this.reportedMs > leaseMs) this.lost.abort();
    }
  }

  /** Returns false if the lease was lost before the registry was changed, or right after. */
  private async register(manifest: ModelManifest): Promise<boolean> {
    const { repository, registry, placements } = this.dependencies;
    if (!(await repository.report(this.lease, 'registering', registering))) return false;
    // Changes of an operator to a registered model stay.
    if ((await this.findRegistered(manifest.id)) === undefined) await registry.upsert([manifest]);
    const { pool } = this.lease.options;
    if (pool !== undefined) await placements.place({ modelId: manifest.id, pool, pinned: false, replicas: null });
    return repository.finish(this.lease, { state: 'installed' });
  }

  private async findRegistered(id: string): Promise<ModelManifest | undefined> {
    return (await this.dependencies.registry.inventory()).find(({ manifest }) => manifest.id === id)?.manifest;
  }
}
