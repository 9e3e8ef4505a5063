import { randomBytes } from 'node:crypto';
import type { HostLauncher, HostTimings } from '#inference/host';
import type { MediaTools } from '#media';
import type { Logger } from '#platform/logging';
import { noTracing, type Tracing } from '#platform/tracing';
import type { QueueTransport } from '#queue';
import type { ArtifactStore } from '#storage';
import type { HostSettings } from './host-options.js';
import { type InstalledModel, InstalledModels, isSelected } from './models-folder.js';
import { modalitiesOf } from '#modalities';
import type { HelperHosts } from './processors.js';
import { ServedModel } from './served-model.js';

export interface WorkerOptions {
  home: string;
  /** Ids, names of sets, or `all`. */
  models: string[];
  settings: HostSettings;
  transport: QueueTransport;
  artifacts: ArtifactStore;
  media: MediaTools;
  /** Starts the child of a model. Tests bring a host of their own. */
  launch: HostLauncher;
  logger: Logger;
  /** Default: nothing is traced. */
  tracing?: Tracing;
  /** Pause between two looks at the models folder, in ms. */
  scanEveryMs?: number;
  timings?: Partial<HostTimings>;
  /** How long jobs may wait in front of a consumer that has room, in ms; absent: nobody watches. */
  pickupTimeoutMs?: number;
}

/**
 * Serves the selected models that are installed: one host each, from the moment the model's folder appears to the
 * moment it goes. Tells the others over the presence bus what it holds.
 */
export class Worker {
  readonly processId = `worker-${randomBytes(6).toString('hex')}`;
  private readonly installed: InstalledModels;
  private readonly served = new Map<string, ServedModel>();
  private readonly reported = new Set<string>();
  private scanTimer: NodeJS.Timeout | null = null;
  private scanning: Promise<void> = Promise.resolve();
  private stopping = false;

  constructor(private readonly options: WorkerOptions) {
    this.installed = new InstalledModels(options.home);
  }

  get models(): ServedModel[] {
    return [...this.served.values()];
  }

  /** False when a consumer hears nothing whatever is tried: the process must be started again. */
  get isAlive(): boolean {
    return !this.models.some((model) => model.isDeaf);
  }

  async start(): Promise<void> {
    await this.options.transport.presence.join(() => ({
      processId: this.processId,
      role: 'worker',
      mailboxAddress: null,
      models: this.models.map((model) => model.describe()),
    }));
    await this.scan();
    this.scanLater();
  }

  /** Stops all models side by side, each within `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    if (this.scanTimer !== null) clearTimeout(this.scanTimer);
    await this.scanning;
    await Promise.all(this.models.map((model) => model.stop(graceMs)));
  }

  private scanLater(): void {
    if (this.stopping) return;
    this.scanTimer = setTimeout(() => {
      this.scanning = this.scan().catch((error: unknown) => {
        this.options.logger.error({ error }, 'the models folder could not be read');
      });
      void this.scanning.then(() => this.scanLater());
    }, this.options.scanEveryMs ?? 1_000);
  }

  private async scan(): Promise<void> {
    const { models, broken } = await this.installed.scan();
    for (const { id, reason } of broken) {
      this.reportOnce(`${id}: ${reason}`, `the model in folder ${id} cannot be used: ${reason}`);
    }
    const wanted = new Map(models.filter((model) => this.isWanted(model)).map((model) => [model.manifest.id, model]));
    for (const served of this.models) {
      if (wanted.get(served.id)?.version !== served.version) this.unload(served);
    }
    if (this.stopping) return;
    for (const [id, model] of wanted) if (!this.served.has(id)) this.load(model);
  }

  private isWanted({ manifest }: InstalledModel): boolean {
    if (!isSelected(manifest, this.options.models)) return false;
    if (manifest.internal || modalitiesOf(manifest).length > 0) return true;
    this.reportOnce(
      `${manifest.id}: ${manifest.type}`,
      `${manifest.id} is a model of type ${manifest.type}, which this worker does not run`,
    );
    return false;
  }

  private readonly helper: HelperHosts = (modelId) => {
    const host = this.served.get(modelId)?.host;
    return host?.state === 'ready' ? host : null;
  };

  private load(model: InstalledModel): void {
    const modalities = modalitiesOf(model.manifest);
    const onChange = () => void this.options.transport.presence.announce();
    const { tracing = noTracing } = this.options;
    const { helper } = this;
    const served = new ServedModel({ ...this.options, model, modalities, helper, tracing, onChange });
    this.served.set(served.id, served);
    served.start();
  }

  /** The model was removed or installed anew: its host finishes what it has; a new one starts at the next look. */
  private unload(served: ServedModel): void {
    if (this.unloading.has(served)) return;
    this.unloading.add(served);
    this.options.logger.info({ model: served.id }, 'the model left the models folder; unloading it');
    const stopped = served.stop(unloadGraceMs).catch((error: unknown) => {
      this.options.logger.error({ model: served.id, error }, 'the model could not be unloaded cleanly');
    });
    void stopped.then(() => {
      this.served.delete(served.id);
      void this.options.transport.presence.announce();
    });
  }

  private readonly unloading = new WeakSet<ServedModel>();

  private reportOnce(key: string, message: string): void {
    if (this.reported.has(key)) return;
    this.reported.add(key);
    this.options.logger.warn(message);
  }
}

/** How long the requests of a removed model may go on, in ms. */
const unloadGraceMs = 60_000;
