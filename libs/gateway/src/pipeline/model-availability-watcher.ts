import type { Heartbeat, ClusterMembership } from '#queue';

interface Watch {
  modelId: string;
  controller: AbortController;
  patienceMs: number;
  /** Since when no worker serves the model; null while one does. */
  orphanedAtMs: number | null;
}

/**
 * How long a model may have no replica before its running requests are aborted, in ms. Also applies to waiting requests
 * when the worker is alive and unloaded the model on purpose.
 */
const confirmMs = 2_000;

/** How long to wait for a worker whose host does not restart, in ms: as long as its jobs wait for the host. */
const hostDownMs = 30_000;

/**
 * Detects that no live process serves a model any more. A request running there would otherwise get no reply until its
 * deadline.
 */
export class ModelAvailabilityWatcher {
  private readonly watches = new Set<Watch>();
  /** The last known replicas of each model. */
  private readonly lastReplicas = new Map<string, string[]>();
  /** Replicas that were ready and are loading again: their host is down, and they take no jobs. `<process> <model>`. */
  private away = new Set<string>();
  private ready = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private readonly stop: () => void;

  constructor(private readonly membership: ClusterMembership) {
    this.stop = membership.onChange((heartbeats) => this.look(heartbeats));
  }

  /**
   * Returns a signal that aborts when the model has had no replica for `patienceMs`, and a function that ends the
   * watch. The default of 2 s tolerates a worker that restarts its heartbeat.
   */
  watch(modelId: string, patienceMs = confirmMs): { lost: AbortSignal; release: () => void } {
    const entry: Watch = { modelId, controller: new AbortController(), patienceMs, orphanedAtMs: null };
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
      if (held.has(entry.modelId)) entry.orphanedAtMs = null;
      else {
        entry.orphanedAtMs ??= nowMs;
        const leftMs = entry.orphanedAtMs + this.patienceFor(entry, heartbeats) - nowMs;
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
    for (const { processId, models } of heartbeats) {
      for (const { modelId, state } of models) {
        const holding = `${processId} ${modelId}`;
        if (state === 'ready') ready.add(holding);
        else if (state === 'loading' && (this.ready.has(holding) || this.away.has(holding))) away.add(holding);
      }
    }
    this.ready = ready;
    this.away = away;
  }

  /** A worker that died returns with its models; a live worker without a model unloaded it on purpose. */
  private patienceFor({ modelId, patienceMs }: Watch, heartbeats: Heartbeat[]): number {
    if (heartbeats.some(({ processId }) => this.away.has(`${processId} ${modelId}`)))
      return Math.max(patienceMs, hostDownMs);
    const replicas = this.lastReplicas.get(modelId) ?? [];
    const isRemoved = heartbeats.some(({ processId }) => replicas.includes(processId));
    return isRemoved ? Math.min(confirmMs, patienceMs) : patienceMs;
  }

  private abortRequests(entry: Watch): void {
    this.watches.delete(entry);
    entry.controller.abort();
  }
}
