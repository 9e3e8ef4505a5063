import { randomBytes } from 'node:crypto';
import type { HostLauncher, HostSettings, HostTimings } from '#inference/host';
import type { MediaTools } from '#media';
import type { Logger } from '#platform/logging';
import { noTracing, type Tracing } from '#platform/tracing';
import type { QueueTransport, ModelWithoutReplica } from '#queue';
import type { ArtifactStore } from '#storage';
import { type InstalledModel, InstalledModels } from './models-folder.js';
import { modalitiesOf } from '#modalities';
import { hostThatHelps } from './helper-host.js';
import type { HelperHosts } from './processors.js';
import { Backlog } from './residency/backlog.js';
import { DesiredModels } from './residency/desired-models.js';
import { NvidiaGraphicsMemory } from './residency/graphics-memory.js';
import { type MachineMemory, ThisMachine } from './residency/machine-memory.js';
import { ModelResidency } from './residency/model-residency.js';
import { WantedModels } from './residency/wanted-models.js';
import { workerHeartbeat } from './residency/worker-heartbeat.js';
import { type HostSilence, ServedModel } from './served-model.js';

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
  /** When a silent host is given up; default 15 s, and 2 minutes for models of other types than text. */
  silence?: HostSilence;
  /** How long jobs may wait in front of a consumer that has room, in ms; absent: nobody watches. */
  pickupTimeoutMs?: number;
  /** `SLUICE_POOL`: placements in these count; default none. */
  pools?: string[];
  /** Default: this machine, without settings of an operator. */
  machine?: MachineMemory;
  /** How long a model stays at least before it makes room for another, in ms. */
  residencyMs?: number;
}

/**
 * Serves the models that are selected or placed here and are installed, as many as fit: one host each, from the moment
 * the model's folder appears to the moment it goes. Tells the others over the presence bus what it holds.
 */
export class Worker {
  readonly processId = `worker-${randomBytes(6).toString('hex')}`;
  readonly residency: ModelResidency;
  private readonly installed: InstalledModels;
  private readonly desired: DesiredModels;
  private readonly wishes: WantedModels;
  private readonly backlog: Backlog;
  private readonly served = new Map<string, ServedModel>();
  private readonly reported = new Set<string>();
  private scanTimer: NodeJS.Timeout | null = null;
  private scanning: Promise<void> = Promise.resolve();
  private stopping = false;
  private missing: readonly ModelWithoutReplica[] = [];
  private isHurried = false;

  constructor(private readonly options: WorkerOptions) {
    this.installed = new InstalledModels(options.home);
    const { logger, pools = [], residencyMs = defaultResidencyMs, models: names, settings, transport } = options;
    const { processId } = this;
    const graphics = new NvidiaGraphicsMemory();
    const machine = options.machine ?? new ThisMachine({ settings: [], providers: settings.providers, graphics });
    const residency = new ModelResidency({ machine, residencyMs, logger });
    this.residency = residency;
    const isHeld = (modelId: string) => this.served.get(modelId)?.residency.leaving === false;
    this.desired = new DesiredModels({
      bus: transport.placements,
      pools,
      onChange: this.rescanNow,
      onMiss: (modelId) => {
        if (isHeld(modelId)) return;
        residency.miss(modelId);
        if (residency.isWaiting(modelId)) this.rescanNow();
      },
    });
    this.backlog = new Backlog(transport.producer);
    this.wishes = new WantedModels({
      names,
      desired: this.desired,
      residency,
      membership: transport.membership,
      processId,
      isHeld,
    });
  }

  get models(): ServedModel[] {
    return [...this.served.values()];
  }

  /** False when a consumer hears nothing whatever is tried: the process must be started again. */
  get isAlive(): boolean {
    return !this.models.some((model) => model.isStalled);
  }

  /** What it should hold and does not. */
  get withoutReplica(): ModelWithoutReplica[] {
    return [...this.residency.withoutReplica, ...this.missing];
  }

  async start(): Promise<void> {
    await this.options.transport.membership.join(() => ({
      processId: this.processId,
      role: 'worker',
      replyAddress: null,
      ...workerHeartbeat(this, this.options.pools ?? []),
    }));
    this.desired.start();
    await this.scan();
    this.scanLater();
  }

  /** Stops all models side by side, each within `graceMs`; the helpers last, which the others may need to the end. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    this.desired.stop();
    if (this.scanTimer !== null) clearTimeout(this.scanTimer);
    await this.scanning;
    await Promise.all(this.models.filter(({ isHelper }) => !isHelper).map((model) => model.stop(graceMs)));
    await Promise.all(this.models.filter(({ isHelper }) => isHelper).map((model) => model.stop(graceMs)));
  }

  private scanLater(): void {
    if (this.stopping) return;
    const pauseMs = this.isHurried ? 0 : (this.options.scanEveryMs ?? 1_000);
    this.isHurried = false;
    this.scanTimer = setTimeout(() => {
      this.scanTimer = null;
      this.scanning = this.scan().catch((error: unknown) => {
        this.options.logger.error({ error }, 'the models folder could not be read');
      });
      void this.scanning.then(() => this.scanLater());
    }, pauseMs);
  }

  /** Looks again at once, and not only at the next look. */
  private readonly rescanNow = (): void => {
    this.isHurried = true;
    // One that is under way looks again itself.
    if (this.scanTimer === null) return;
    clearTimeout(this.scanTimer);
    this.scanLater();
  };

  private async scan(): Promise<void> {
    const { models, broken } = await this.installed.scan();
    for (const { id, reason } of broken) {
      this.reportOnce(`${id}: ${reason}`, `the model in folder ${id} cannot be used: ${reason}`);
    }
    const { wanted, missing } = await this.wishes.select(models.filter((model) => this.canRun(model)));
    this.missing = missing;
    const versions = new Map(wanted.map(({ model }) => [model.manifest.id, model.version]));
    for (const served of this.models) {
      if (versions.get(served.id) !== served.version) this.unload(served, 'it is no longer wanted or installed here');
    }
    if (this.stopping) return;
    const absent = wanted.map(({ model }) => model).filter(({ manifest }) => this.residency.isWaiting(manifest.id));
    for (const id of await this.backlog.among(absent)) this.residency.miss(id);
    const { load, evict } = await this.residency.decide(wanted, this.models);
    if (this.isStopping()) return;
    for (const served of evict) this.unload(served, 'it was used least recently, and makes room');
    for (const model of load) this.load(model);
  }

  /** The worker may be told to stop while something is waited for. */
  private isStopping(): boolean {
    return this.stopping;
  }

  private canRun({ manifest }: InstalledModel): boolean {
    if (manifest.internal || modalitiesOf(manifest).length > 0) return true;
    this.reportOnce(
      `${manifest.id}: ${manifest.type}`,
      `${manifest.id} is a model of type ${manifest.type}, which this worker does not run`,
    );
    return false;
  }

  private readonly helper: HelperHosts = (modelId) => hostThatHelps(this.served.get(modelId));

  private load(model: InstalledModel): void {
    const modalities = modalitiesOf(model.manifest);
    const onChange = () => void this.options.transport.membership.announce();
    const { tracing = noTracing } = this.options;
    const { helper } = this;
    const served = new ServedModel({ ...this.options, model, modalities, helper, tracing, onChange });
    this.served.set(served.id, served);
    served.start();
  }

  /** Its host finishes what it has; where it was installed anew, another starts at the next look. */
  private unload(served: ServedModel, why: string): void {
    if (this.unloading.has(served)) return;
    this.unloading.add(served);
    this.options.logger.info({ model: served.id, why }, `unloading ${served.id}: ${why}`);
    const stopped = served.stop(unloadGraceMs).catch((error: unknown) => {
      this.options.logger.error({ model: served.id, error }, 'the model could not be unloaded cleanly');
    });
    void stopped.then(() => {
      this.served.delete(served.id);
      // Another may wait for its room.
      this.rescanNow();
      void this.options.transport.membership.announce();
    });
  }

  private readonly unloading = new WeakSet<ServedModel>();

  private reportOnce(key: string, message: string): void {
    if (this.reported.has(key)) return;
    this.reported.add(key);
    this.options.logger.warn(message);
  }
}

const defaultResidencyMs = 60_000;

/** How long the requests of a removed model may go on, in ms. */
const unloadGraceMs = 60_000;
