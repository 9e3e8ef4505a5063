import {
  defaultHostTimings,
  type HostLauncher,
  hostLoadOptions,
  type HostReport,
  type HostSettings,
  type HostStateChange,
  HostSupervisor,
  type HostTimings,
} from '#inference/host';
import type { MediaTools } from '#media';
import type { ModalityName } from '#modalities';
import type { Logger } from '#platform/logging';
import type { Tracing } from '#platform/tracing';
import type { ServedModelState, JobConsumer, ModelWithoutReplica, QueueTransport } from '#queue';
import type { ArtifactStore } from '#storage';
import { AdapterRunner } from './adapter-runner.js';
import { HostDowntime } from './host-downtime.js';
import type { InstalledModel } from './models-folder.js';
import { ModelTimings } from './model-timings.js';
import { type HelperHosts, type ModelConsumerOptions, openConsumer } from './processors.js';
import type { ResidencyModel } from './residency/residency-plan.js';

export interface ServedModelOptions {
  model: InstalledModel;
  modalities: readonly ModalityName[];
  transport: QueueTransport;
  artifacts: ArtifactStore;
  media: MediaTools;
  helper: HelperHosts;
  launch: HostLauncher;
  settings: HostSettings;
  logger: Logger;
  tracing: Tracing;
  timings?: Partial<HostTimings>;
  silence?: HostSilence;
  pickupTimeoutMs?: number;
  /** Called when the published state of this model has changed. */
  onChange: () => void;
}

/**
 * How long a host may send nothing, in ms. A run blocks its event loop; an image takes much longer than a text step.
 */
export interface HostSilence {
  textMs: number;
  otherMs: number;
}

const defaultSilence: HostSilence = { textMs: defaultHostTimings.silentAfterMs, otherMs: 120_000 };

function timingsOf({ manifest }: InstalledModel, { textMs, otherMs }: HostSilence): Partial<HostTimings> {
  return { silentAfterMs: manifest.type === 'text' ? textMs : otherMs };
}

/** One model of this worker: its host and, once that is ready, the consumers of its queues. */
export class ServedModel {
  /** For metrics. */
  readonly timings = new ModelTimings();
  private readonly supervisor: HostSupervisor;
  /** By model id and modality. */
  private readonly consumers = new Map<string, JobConsumer>();
  /** By the ids of the adapters that the host has loaded. */
  private readonly adapters = new Map<string, AdapterRunner>();
  private opening: Promise<void> | null = null;
  private closing = false;
  private drained = false;
  private readonly downtime: HostDowntime;
  private readonly startedAtMs = performance.now();
  private readyAtMs: number | null = null;
  private consumesAll = false;

  constructor(private readonly options: ServedModelOptions) {
    const { model, settings, launch, tracing } = options;
    const timings = { ...timingsOf(model, options.silence ?? defaultSilence), ...options.timings };
    const traceOf = (id: string) => tracing.parentFor(id);
    this.downtime = new HostDowntime({
      waitMs: timings.failoverWaitMs ?? defaultHostTimings.failoverWaitMs,
      onDown: () => this.hostIsDown(),
      onRecovered: () => this.resumeConsumers(),
    });
    this.supervisor = new HostSupervisor({ load: hostLoadOptions(model, settings), launch, timings, traceOf });
    this.supervisor.onChange((change) => this.hostChanged(change));
  }

  get id(): string {
    return this.options.model.manifest.id;
  }

  get version(): string {
    return this.options.model.version;
  }

  get model(): InstalledModel {
    return this.options.model;
  }

  /** Returns the model as the residency plan sees it. */
  get residency(): NonNullable<ResidencyModel['loaded']> {
    // A host that cannot be started does not count as loading; it may be evicted.
    const readyAtMs = this.readyAtMs ?? (this.downtime.failsRepeatedly ? this.startedAtMs : null);
    return {
      readyAtMs,
      usedAtMs: Math.max(this.timings.usedAtMs, readyAtMs ?? this.startedAtMs),
      inFlight: Math.max(this.timings.running, this.supervisor.running),
      leaving: this.closing,
    };
  }

  /** True for an internal model: it has no queue, and other models may call it. */
  get isHelper(): boolean {
    return this.options.modalities.length === 0;
  }

  get host(): HostSupervisor {
    return this.supervisor;
  }

  /** True while its host is down for so long that no request should wait for it. */
  get isDown(): boolean {
    return this.downtime.isDown;
  }

  /** True once it could run jobs for the first time: its host was ready and the queues were open. */
  get hasServed(): boolean {
    return this.isHelper ? this.readyAtMs !== null : this.consumesAll;
  }

  /** Why its last load failed; null while loads succeed. */
  get loadFailure(): string | null {
    return this.supervisor.loadFailure;
  }

  /** True when loads have failed so often that the model is tried again only rarely. */
  get hasFailed(): boolean {
    return this.supervisor.hasFailed;
  }

  /** The failure of the last load; null while loads succeed. */
  get failure(): ModelWithoutReplica | null {
    if (this.loadFailure === null) return null;
    return { modelId: this.id, cause: 'failed', reason: `${this.id} is not loaded: ${this.loadFailure}` };
  }

  /** Present while the model runs on another provider than the first in the order of preference. */
  get fallback(): { provider: string; preferred: string; note: string } | null {
    const { report } = this.supervisor;
    const [preferred = ''] = this.options.settings.providers;
    if (report === null || report.provider === preferred) return null;
    return { provider: report.provider, preferred, note: report.providerNote ?? `${preferred} is not used` };
  }

  /** How often a stalled consumer was restarted. */
  get restarts(): number {
    return [...this.consumers.values()].reduce((sum, { restarts }) => sum + restarts, 0);
  }

  /** True when a consumer stays stalled after restarts. */
  get isStalled(): boolean {
    return [...this.consumers.values()].some(({ isStalled }) => isStalled);
  }

  start(): void {
    this.options.logger.info({ model: this.id }, `loading ${this.id}`);
    this.supervisor.start();
  }

  /** Takes no more jobs, or takes them again; running jobs continue. */
  setDrained(isDrained: boolean): void {
    this.drained = isDrained;
    if (isDrained) for (const consumer of this.consumers.values()) consumer.pause();
    else this.resumeConsumers();
    this.options.onChange();
  }

  /** True for the model and the adapters that its host serves. */
  serves(modelId: string): boolean {
    return modelId === this.id || this.adapters.has(modelId);
  }

  /** Adapters that its host left out. */
  get refusedAdapters(): ModelWithoutReplica[] {
    const refused = this.supervisor.report?.adapters.refused ?? [];
    return refused.map(({ modelId, reason }) => {
      return { modelId, cause: 'not-installed', reason: `${modelId} is not loaded: ${reason}` };
    });
  }

  describeAdapters(): ServedModelState[] {
    const served = this.describe();
    return [...this.adapters].map(([modelId, { running }]) => ({ ...served, modelId, running }));
  }

  describe(): ServedModelState {
    const { report } = this.supervisor;
    const ofAdapters = [...this.adapters.values()].reduce((sum, { running }) => sum + running, 0);
    return {
      modelId: this.id,
      modalities: [...this.options.modalities],
      state: this.publishedState(),
      slots: report?.slots ?? 0,
      ...(report !== null && report.spareSlots > 0 && { spareSlots: report.spareSlots }),
      running: Math.max(0, this.supervisor.running - ofAdapters),
      ended: this.timings.ended,
      provider: report?.provider ?? '',
      ...(this.fallback !== null && { providerNote: this.fallback.note }),
      ...this.teeState(),
    };
  }

  /**
   * Stops consuming and lets running jobs finish within `graceMs`. The consumer then aborts the rest, which fail as
   * `MODEL_AT_CAPACITY`, and the host ends.
   */
  async stop(graceMs: number): Promise<void> {
    this.closing = true;
    this.downtime.stop();
    this.options.onChange();
    await this.opening;
    await Promise.all([...this.consumers.values()].map((consumer) => consumer.close(graceMs)));
    await this.supervisor.drain(afterAbortMs);
    this.options.onChange();
  }

  /** The key of the host that runs now: that of one that died is gone. */
  private teeState(): Pick<ServedModelState, 'tee'> {
    const { report, state } = this.supervisor;
    const tee = report?.tee ?? null;
    return state !== 'ready' || tee === null || 'failure' in tee ? {} : { tee };
  }

  private publishedState(): ServedModelState['state'] {
    const { state } = this.supervisor;
    if (this.closing || this.drained || state === 'draining' || state === 'gone') return 'draining';
    if (state === 'ready') return 'ready';
    // A host that died restarts shortly and requests wait for it, so clients are not rejected.
    return this.consumers.size > 0 && !this.downtime.isDown ? 'ready' : 'loading';
  }

  private hostChanged({ state, reason }: HostStateChange): void {
    const { logger } = this.options;
    if (state === 'ready') this.becameReady();
    else if (state === 'restarting') {
      this.downtime.died();
      logger.warn({ model: this.id, reason, restarts: this.supervisor.restarts }, 'model host ended; restarting it');
    } else logger.info({ model: this.id, pid: this.supervisor.pid }, `model host ${state}`);
    this.options.onChange();
  }

  private resumeConsumers(): void {
    if (this.drained || this.downtime.isDown) return;
    for (const consumer of this.consumers.values()) consumer.resume();
  }

  /** Pauses consumption: waiting jobs go to other workers, jobs already taken keep waiting. */
  private hostIsDown(): void {
    for (const consumer of this.consumers.values()) consumer.pause();
    this.options.logger.warn({ model: this.id }, `${this.id} takes no jobs until its host is back`);
    this.options.onChange();
  }

  private becameReady(): void {
    this.downtime.recovered();
    this.readyAtMs ??= performance.now();
    const { report, pid } = this.supervisor;
    if (report === null) return;
    const { provider, providerNote, slots, spareSlots, loadMs, cacheType, tee } = report;
    const why = providerNote === null ? '' : ` (${providerNote})`;
    const cache = cacheType === null || cacheType === 'float32' ? '' : ` ${cacheType} cache,`;
    const fields = { model: this.id, pid, provider, providerNote, cacheType, slots, loadMs: Math.round(loadMs) };
    this.options.logger.info(
      fields,
      `${this.id} runs on ${provider}${why},${cache} ${slots} slots, loaded in ${fields.loadMs} ms`,
    );
    for (const { reason } of this.refusedAdapters) this.options.logger.warn({ model: this.id }, reason);
    if (tee !== null && 'failure' in tee) {
      const message = `${this.id} has no attestation: ${tee.failure}`;
      this.options.logger.warn({ model: this.id }, message);
    }
    if (this.consumers.size === 0 && !this.closing) this.opening ??= this.openConsumers({ slots, spareSlots });
  }

  /** Starts the consumers once the model can run jobs. */
  private async openConsumers({ slots, spareSlots }: Slots): Promise<void> {
    // Takes one more job than slots, so that the next prompt waits in the host instead of a queue round trip. More would be out
    // of reach of the turns of accounts: whoever comes later waits for all of them.
    const room = { concurrency: slots + 1, spareSlots };
    try {
      for (const modality of this.options.modalities) {
        await this.openOne({ manifest: this.options.model.manifest, runner: this.supervisor, modality, ...room });
        for (const { manifest } of this.loadedAdapters()) {
          const runner = this.adapters.get(manifest.id) ?? new AdapterRunner(this.supervisor, manifest.id);
          await this.openOne({ manifest, runner, modality, ...room });
          this.adapters.set(manifest.id, runner);
        }
      }
      this.consumesAll = true;
    } catch (error) {
      this.options.logger.error({ model: this.id, error }, 'the queues of the model could not be opened');
      setTimeout(() => {
        if (!this.closing) this.opening = this.openConsumers({ slots, spareSlots });
      }, reopenMs);
    }
    this.options.onChange();
  }

  private loadedAdapters(): readonly InstalledModel[] {
    const loaded = this.supervisor.report?.adapters.modelIds ?? [];
    return (this.options.model.adapters ?? []).filter(({ manifest }) => loaded.includes(manifest.id));
  }

  /** Starts the consumer of one queue, unless it runs already. */
  private async openOne(modelConsumer: OneConsumer): Promise<void> {
    const key = `${modelConsumer.manifest.id} ${modelConsumer.modality}`;
    if (this.consumers.has(key)) return;
    // A base that is loaded for its adapters alone.
    if (!this.options.transport.hasKeyOf(modelConsumer.manifest.id)) return;
    const consumer = await openConsumer({ ...this.options, ...modelConsumer, timings: this.timings });
    this.consumers.set(key, consumer);
    // The host may have exited meanwhile and stayed down, or an operator drained the worker.
    if (this.downtime.isDown || this.drained) consumer.pause();
  }
}

type OneConsumer = Pick<ModelConsumerOptions, 'manifest' | 'runner' | 'modality' | 'concurrency' | 'spareSlots'>;

/** Slots of a loaded model, as its host reports them. */
type Slots = Pick<HostReport, 'slots' | 'spareSlots'>;

/** How long aborted requests may take to end in the host, in ms: two steps are enough. */
const afterAbortMs = 1_000;
const reopenMs = 2_000;
