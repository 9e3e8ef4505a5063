import { ApiConfig } from '#platform/config';
import { Inject, Injectable } from '#platform/injection';
import { type ClusterMembership, type Heartbeat, QueueTransport } from '#queue';

interface Watch {
  modelId: string;
  controller: AbortController;
  maxWaitMs: number;
  /** Aborts when no replica is ready for too long; one that still loads does not count. */
  needsReady: boolean;
  /** The time since which no worker serves the model, or null while one does. */
  orphanedAtMs: number | null;
}

/** Aborts when a model has had no replica for too long; active until released. */
export interface AvailabilityWatch {
  lost: AbortSignal;
  release: () => void;
}

/** Why a job of a model has to wait: its only workers load it, or no worker has it. */
export type ReplicaState = 'ready' | 'loading' | 'absent';

/** How many models' last replicas are remembered. The ones lost first are dropped first. */
const rememberedModels = 1_000;

/**
 * How long a model may have no replica before its running requests are aborted, in ms. Also applies to waiting requests
 * when the worker is alive and unloaded the model on purpose.
 */
const confirmMs = 2_000;

/** How long to wait for a worker whose host does not restart, in ms: as long as its jobs wait for the host. */
const hostDownMs = 30_000;

/**
 * Detects that no live process serves a model any more. A request running there would otherwise get no reply until its
 * deadline. Also tells models whose worker is being replaced from those that nobody serves.
 */
@Injectable()
export class ModelAvailabilityWatcher {
  private readonly watches = new Set<Watch>();
  /** The last known replicas of each model. */
  private readonly lastReplicas = new Map<string, string[]>();
  /** Replicas that were ready and are loading again: their host is down, and they take no jobs. `<process> <model>`. */
  private away = new Set<string>();
  private ready = new Set<string>();
  private readyModels: ReadonlySet<string> = new Set();
  private loadingModels: ReadonlySet<string> = new Set();
  /** The times at which models lost their last ready replica. */
  private readonly lostAtMs = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private readonly stop: () => void;
  private readonly membership: ClusterMembership;
  /**
   * How long a new request waits for a model that lost its last replica within this time, or that a worker loads, in ms;
   * 0: it is refused.
   */
  private readonly returnMs: number;

  constructor(
    @Inject(QueueTransport) { membership }: Pick<QueueTransport, 'membership'>,
    @Inject(ApiConfig) { modelWaitMs }: Pick<ApiConfig, 'modelWaitMs'>,
  ) {
    this.membership = membership;
    this.returnMs = modelWaitMs;
    this.stop = membership.onChange((heartbeats) => this.look(heartbeats));
  }

  /**
   * Returns a signal that aborts when the model has had no replica for `maxWaitMs`, and a function that ends the
   * watch. The default of 2 s tolerates a worker that restarts its heartbeat.
   */
  watch(modelId: string, maxWaitMs = confirmMs): AvailabilityWatch {
    return this.add({ modelId, maxWaitMs, needsReady: false });
  }

  /** The same for a request that came while the model had no ready replica: it waits for one, for `returnMs`. */
  watchReturn(modelId: string): AvailabilityWatch {
    return this.add({ modelId, maxWaitMs: this.returnMs, needsReady: true });
  }

  /** Returns what the heartbeats say about a model. */
  stateOf(modelId: string): ReplicaState {
    this.look(this.membership.list());
    if (this.readyModels.has(modelId)) return 'ready';
    return this.loadingModels.has(modelId) ? 'loading' : 'absent';
  }

  /**
   * Returns true when a new request may wait for a model without a ready replica: a worker loads it, or had it ready
   * until a moment ago and did not unload it on purpose.
   */
  mayReturn(modelId: string): boolean {
    const heartbeats = this.membership.list();
    this.look(heartbeats);
    const { returnMs } = this;
    if (returnMs === 0) return false;
    if (this.loadingModels.has(modelId)) return true;
    const lostAtMs = this.lostAtMs.get(modelId) ?? -Infinity;
    return performance.now() - lostAtMs < returnMs && !this.isRemoved(modelId, heartbeats);
  }

  /** Returns true when a worker served a model since this process started, and none unloaded it on purpose. */
  isMissed(modelId: string): boolean {
    const heartbeats = this.membership.list();
    this.look(heartbeats);
    return this.lastReplicas.has(modelId) && !this.isRemoved(modelId, heartbeats);
  }

  private add(options: Pick<Watch, 'modelId' | 'maxWaitMs' | 'needsReady'>): AvailabilityWatch {
    const entry: Watch = { ...options, controller: new AbortController(), orphanedAtMs: null };
    this.watches.add(entry);
    // The last replica may have left just before; no further change would be reported then.
    this.look(this.membership.list());
    return { lost: entry.controller.signal, release: () => void this.watches.delete(entry) };
  }

  close(): void {
    clearTimeout(this.timer);
    this.stop();
  }

  private look(heartbeats: Heartbeat[]): void {
    this.noteHosts(heartbeats);
    const held = this.recordReplicas(heartbeats);
    const nowMs = performance.now();
    let nextMs = Infinity;
    for (const entry of this.watches) {
      if ((entry.needsReady ? this.readyModels : held).has(entry.modelId)) entry.orphanedAtMs = null;
      else {
        entry.orphanedAtMs ??= nowMs;
        const leftMs = entry.orphanedAtMs + this.maxWaitFor(entry, heartbeats) - nowMs;
        if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
        else this.abortRequests(entry);
      }
    }
    clearTimeout(this.timer);
    this.timer =
      nextMs === Infinity ? undefined : setTimeout(() => this.look(this.membership.list()), Math.ceil(nextMs));
  }

  private recordReplicas(heartbeats: Heartbeat[]): Set<string> {
    const replicas = new Map<string, string[]>();
    for (const { processId, models } of heartbeats) {
      for (const { modelId } of models) {
        if (this.away.has(`${processId} ${modelId}`)) continue;
        replicas.set(modelId, [...(replicas.get(modelId) ?? []), processId]);
      }
    }
    for (const [modelId, processIds] of replicas) this.lastReplicas.set(modelId, processIds);
    return new Set(replicas.keys());
  }

  /** A model that was unloaded, or whose worker was lost, counts as new when it loads. */
  private noteHosts(heartbeats: Heartbeat[]): void {
    const [ready, away] = [new Set<string>(), new Set<string>()];
    const [readyModels, loadingModels] = [new Set<string>(), new Set<string>()];
    for (const { processId, models } of heartbeats) {
      for (const { modelId, state } of models) {
        const holding = `${processId} ${modelId}`;
        if (state === 'ready') ready.add(holding);
        else if (state === 'loading' && (this.ready.has(holding) || this.away.has(holding))) away.add(holding);
        if (state === 'ready') readyModels.add(modelId);
        else if (state === 'loading') loadingModels.add(modelId);
      }
    }
    for (const modelId of this.readyModels) if (!readyModels.has(modelId)) this.noteLoss(modelId);
    this.ready = ready;
    this.away = away;
    this.readyModels = readyModels;
    this.loadingModels = loadingModels;
  }

  private noteLoss(modelId: string): void {
    this.lostAtMs.delete(modelId);
    this.lostAtMs.set(modelId, performance.now());
    const [oldest] = this.lostAtMs.keys();
    if (this.lostAtMs.size > rememberedModels && oldest !== undefined) this.lostAtMs.delete(oldest);
  }

  private maxWaitFor({ modelId, maxWaitMs, needsReady }: Watch, heartbeats: Heartbeat[]): number {
    const isAway = heartbeats.some(({ processId }) => this.away.has(`${processId} ${modelId}`));
    if (isAway && !needsReady) return Math.max(maxWaitMs, hostDownMs);
    return this.isRemoved(modelId, heartbeats) ? Math.min(confirmMs, maxWaitMs) : maxWaitMs;
  }

  /** A worker that died returns with its models; a live worker without a model unloaded it on purpose. */
  private isRemoved(modelId: string, heartbeats: Heartbeat[]): boolean {
    const isServed = ({ models }: Heartbeat): boolean => models.some((model) => model.modelId === modelId);
    if (heartbeats.some(isServed)) return false;
    const replicas = this.lastReplicas.get(modelId) ?? [];
    return heartbeats.some(({ processId }) => replicas.includes(processId));
  }

  private abortRequests(entry: Watch): void {
    this.watches.delete(entry);
    entry.controller.abort();
  }
}
