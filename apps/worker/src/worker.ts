import { randomBytes } from 'node:crypto';
import type { HostLauncher, HostSettings, HostTimings } from '#inference/host';
import type { MediaTools } from '#media';
import type { Logger } from '#platform/logging';
import { noTracing, type Tracing } from '#platform/tracing';
import type { QueueTransport, ModelWithoutReplica, WorkerProcess } from '#queue';
import type { ArtifactStore } from '#storage';
import { type InstalledModel, InstalledModels } from './models-folder.js';
import { modalitiesOf } from '#modalities';
import { availableHelperHost } from './helper-host.js';
import type { HelperHosts } from './processors.js';
import { alsoOfAdapters } from './residency/adapter-groups.js';
import { Backlog } from './residency/backlog.js';
import { DesiredModels } from './residency/desired-models.js';
import { NvidiaGraphicsMemory } from './residency/graphics-memory.js';
import { guardedHost, HostMemoryGuard } from './residency/host-memory-guard.js';
import { LinuxMemoryReader } from './residency/memory-reader.js';
import { type MachineMemory, LocalMachineMemory } from './residency/machine-memory.js';
import { ModelResidency } from './residency/model-residency.js';
import { WantedModels } from './residency/wanted-models.js';
import { workerHeartbeat } from './residency/worker-heartbeat.js';
import { answerHostQuestion } from './host-answers.js';
import { type HostSilence, ServedModel } from './served-model.js';
import { type StartupView, StartupModels } from './startup-models.js';

export interface WorkerOptions {
  home: string;
  /** Ids, set names, or `all`. */
  models: string[];
  settings: HostSettings;
  transport: QueueTransport;
  artifacts: ArtifactStore;
  media: MediaTools;
  /** Spawns the host process of a model. Tests replace it. */
  launch: HostLauncher;
  logger: Logger;
  /** Default: no tracing. */
  tracing?: Tracing;
  /** Pause between two scans of the models folder, in ms. */
  scanEveryMs?: number;
  timings?: Partial<HostTimings>;
  /** Silence after which a host is killed; default: 15 s, and 2 minutes for models other than text. */
  silence?: HostSilence;
  /** How long jobs may wait while the consumer has capacity, in ms; absent: not monitored. */
  pickupTimeoutMs?: number;
  /** `SLUICE_POOL`: pools whose placements apply; default: none. */
  pools?: string[];
  /** Default: this machine without operator settings. */
  machine?: MachineMemory;
  /** Where it runs, as heartbeats say; default: they do not. */
  process?: WorkerProcess;
  /** How long a model stays loaded at least before it can be evicted, in ms. */
  residencyMs?: number;
}

/**
 * Serves the models that are selected or placed here and installed, as many as fit. Each has its own host from the time
 * its folder appears until it is removed. Publishes its state over the bus.
 */
export class Worker {
  readonly processId = `worker-${randomBytes(6).toString('hex')}`;
  readonly residency: ModelResidency;
  readonly startup: StartupModels;
  private readonly installed: InstalledModels;
  private readonly desired: DesiredModels;
  private readonly wantedModels: WantedModels;
  private readonly backlog: Backlog;
  private readonly memoryGuard: HostMemoryGuard;
  private readonly served = new Map<string, ServedModel>();
  private readonly reported = new Set<string>();
  /** Wanted models with their adapters, as of the last scan. */
  private wanted: readonly InstalledModel[] = [];
  /** Bases by the ids of their wanted adapters. */
  private carriers: ReadonlyMap<string, string> = new Map();
  private scanTimer: NodeJS.Timeout | null = null;
  private scanning: Promise<void> = Promise.resolve();
  private stopping = false;
  private drained = false;
  private ignoreCommands: () => void = () => undefined;
  private ignoreQuestions: () => void = () => undefined;
  private missing: readonly ModelWithoutReplica[] = [];
  /** Version of the placements that the last scan has used; null: no scan has ended. */
  private plannedVersion: number | null = null;
  private rescanRequested = false;

  constructor(private readonly options: WorkerOptions) {
    this.installed = new InstalledModels(options.home);
    const { logger, pools = [], residencyMs = defaultResidencyMs, models: names, settings, transport } = options;
    const { processId } = this;
    const graphics = new NvidiaGraphicsMemory();
    const machine =
      options.machine ?? new LocalMachineMemory({ settings: [], providers: settings.providers, graphics });
    const residency = new ModelResidency({ machine, residencyMs, logger });
    this.residency = residency;
    const isLoaded = (modelId: string) =>
      this.models.some((model) => model.serves(modelId) && !model.residency.leaving);
    this.desired = new DesiredModels({
      bus: transport.placements,
      pools,
      onChange: this.rescanNow,
      onUnserved: (unserved) => {
        if (isLoaded(unserved)) return;
        const modelId = this.carriers.get(unserved) ?? unserved;
        residency.reportUnserved(modelId);
        if (residency.isWaiting(modelId)) this.rescanNow();
      },
    });
    this.backlog = new Backlog(transport.producer);
    this.memoryGuard = new HostMemoryGuard({
      hosts: () => this.models.map(guardedHost),
      budgetBytes: () => residency.budget.cpu ?? Infinity,
      reader: new LinuxMemoryReader(),
      logger,
    });
    this.wantedModels = new WantedModels({
      names,
      desired: this.desired,
      residency,
      membership: transport.membership,
      processId,
      isLoaded,
      hasKeyOf: (modelId) => this.hasKeyOf(modelId),
    });
    this.startup = new StartupModels({
      view: () => this.startupView(),
      failed: () => this.models.filter(({ hasFailed }) => hasFailed).flatMap(({ failure }) => failure ?? []),
      announce: () => transport.membership.announce(),
    });
  }

  get models(): ServedModel[] {
    return [...this.served.values()];
  }

  /** False when a consumer stays stalled despite restarts: the process must be restarted. */
  get isAlive(): boolean {
    return !this.models.some((model) => model.isStalled);
  }

  /** Models that it should serve but does not. */
  get withoutReplica(): ModelWithoutReplica[] {
    const refused = this.models.flatMap((model) => model.refusedAdapters);
    const failed = this.models.flatMap((model) => model.failure ?? []);
    const unloaded = [...this.residency.withoutReplica, ...failed];
    return [...alsoOfAdapters(unloaded, this.wanted), ...refused, ...this.missing];
  }

  private startupView(): StartupView {
    const { version } = this.desired;
    const leftOut = this.residency.withoutReplica;
    const isWaiting = (id: string) => leftOut.some(({ modelId, cause }) => modelId === id && cause !== 'not-installed');
    const missing = [...leftOut, ...this.missing.filter(({ modelId }) => this.desired.isForAll(modelId))];
    return {
      isPlanned: version !== null && version === this.plannedVersion,
      due: this.wanted.map(({ manifest }) => manifest.id).filter((id) => !isWaiting(id)),
      models: this.models,
      missing: missing.filter(({ cause }) => cause === 'not-installed'),
    };
  }

  async start(): Promise<void> {
    await this.options.transport.membership.join(() => ({
      processId: this.processId,
      role: 'worker',
      replyAddress: null,
      ...workerHeartbeat(this, this.options),
    }));
    this.ignoreCommands = this.options.transport.workerControl.subscribe((command) => this.obey(command));
    if (this.options.settings.tee !== undefined) {
      const { hosts } = this.options.transport;
      this.ignoreQuestions = await hosts.answer((question) => answerHostQuestion(this.models, question));
    }
    this.desired.start();
    this.memoryGuard.start();
    await this.scan();
    this.scanLater();
  }

  /**
   * Stops all models concurrently, each within `graceMs`. Helpers stop last, because other models may need them until
   * the end.
   */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    this.ignoreCommands();
    this.ignoreQuestions();
    this.memoryGuard.stop();
    this.desired.stop();
    if (this.scanTimer !== null) clearTimeout(this.scanTimer);
    await this.scanning;
    await Promise.all(this.models.filter(({ isHelper }) => !isHelper).map((model) => model.stop(graceMs)));
    await Promise.all(this.models.filter(({ isHelper }) => isHelper).map((model) => model.stop(graceMs)));
  }

  /** True while an operator keeps it from taking jobs. */
  get isDrained(): boolean {
    return this.drained;
  }

  private obey({ processId, action }: { processId: string; action: 'drain' | 'resume' }): void {
    const isDrained = action === 'drain';
    if (processId !== this.processId || isDrained === this.drained) return;
    this.drained = isDrained;
    for (const model of this.models) model.setDrained(isDrained);
    const what = isDrained ? 'drained by an operator: no new jobs, running ones may finish' : 'resumed by an operator';
    this.options.logger.info(what);
    void this.options.transport.membership.announce();
  }

  private scanLater(): void {
    if (this.stopping) return;
    const pauseMs = this.rescanRequested ? 0 : (this.options.scanEveryMs ?? 1_000);
    this.rescanRequested = false;
    this.scanTimer = setTimeout(() => {
      this.scanTimer = null;
      this.scanning = this.scan().catch((error: unknown) => {
        this.options.logger.error({ error }, 'the models folder could not be read');
      });
      void this.scanning.then(() => this.scanLater());
    }, pauseMs);
  }

  /** Scans again at once instead of at the next interval. */
  private readonly rescanNow = (): void => {
    this.rescanRequested = true;
    // A running scan repeats itself.
    if (this.scanTimer === null) return;
    clearTimeout(this.scanTimer);
    this.scanLater();
  };

  private async scan(): Promise<void> {
    const { version } = this.desired;
    const { models, broken } = await this.installed.scan();
    for (const { id, reason } of broken) {
      this.reportOnce(`${id}: ${reason}`, `the model in folder ${id} cannot be used: ${reason}`);
    }
    const { wanted, missing } = await this.wantedModels.select(models.filter((model) => this.canRun(model)));
    this.missing = missing;
    this.wanted = wanted.map(({ model }) => model);
    this.carriers = new Map(
      this.wanted.flatMap(({ manifest, adapters = [] }) =>
        adapters.map((adapter) => [adapter.manifest.id, manifest.id]),
      ),
    );
    const versions = new Map(wanted.map(({ model }) => [model.manifest.id, model.version]));
    for (const served of this.models) {
      const version = versions.get(served.id);
      if (version === undefined) this.unload(served, 'it is no longer wanted or installed here');
      else if (version !== served.version) this.unload(served, 'it was installed again, or its adapters changed');
    }
    if (this.stopping) return;
    const absent = wanted.map(({ model }) => model).filter(({ manifest }) => this.residency.isWaiting(manifest.id));
    for (const id of await this.backlog.among(absent)) this.residency.reportUnserved(id);
    const { load, evict } = await this.residency.decide(wanted, this.models);
    if (this.isStopping()) return;
    for (const served of evict) this.unload(served, 'it was used least recently and is evicted');
    for (const model of load) this.load(model);
    this.plannedVersion = version;
  }

  /** The worker may be stopped during any await. */
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

  /** Asked for models that are placed or selected here. */
  private hasKeyOf(modelId: string): boolean {
    if (this.options.transport.hasKeyOf(modelId)) return true;
    this.reportOnce(
      `${modelId}: no key`,
      `${modelId} is not loaded: SLUICE_QUEUE_KEY has no key for it, so its jobs would fail here`,
    );
    return false;
  }

  private readonly helper: HelperHosts = (modelId) => availableHelperHost(this.served.get(modelId));

  private load(model: InstalledModel): void {
    const modalities = modalitiesOf(model.manifest);
    const onChange = () => void this.options.transport.membership.announce();
    const { tracing = noTracing } = this.options;
    const { helper } = this;
    const served = new ServedModel({ ...this.options, model, modalities, helper, tracing, onChange });
    this.served.set(served.id, served);
    if (this.drained) served.setDrained(true);
    served.start();
  }

  /** Its host finishes its requests. If the model was reinstalled, the next scan starts a new host. */
  private unload(served: ServedModel, why: string): void {
    if (this.unloading.has(served)) return;
    this.unloading.add(served);
    this.options.logger.info({ model: served.id, why }, `unloading ${served.id}: ${why}`);
    const stopped = served.stop(unloadGraceMs).catch((error: unknown) => {
      this.options.logger.error({ model: served.id, error }, 'the model could not be unloaded cleanly');
    });
    void stopped.then(() => {
      this.served.delete(served.id);
      // Another model may wait for its memory.
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

/** How long running requests of a removed model may continue, in ms. */
const unloadGraceMs = 60_000;
