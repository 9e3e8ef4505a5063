import type { Heartbeat, ClusterMembership } from '#queue';

interface Watch {
  modelId: string;
  controller: AbortController;
  patienceMs: number;
  /** Since when nobody holds the model; null while somebody does. */
  orphanedAtMs: number | null;
}

/**
 * How long a model may be held by nobody before its running answers are given up, in ms; and those that wait, where the
 * worker that held it is still there and has let go of it on purpose.
 */
const confirmMs = 2_000;

/** How long it is waited for a worker whose host does not come up again, in ms: for as long as its jobs wait for the host. */
const hostAwayMs = 30_000;

/**
 * Tells when no live process holds a model any more: whoever runs an answer of it is dead, and would be silent until
 * the deadline.
 */
export class ModelAvailabilityWatcher {
  private readonly watches = new Set<Watch>();
  /** Who held each model when somebody last did. */
  private readonly lastReplicas = new Map<string, string[]>();
  /** Holdings that were ready and load again: their host does not come up, and they take no jobs. `<process> <model>`. */
  private away = new Set<string>();
  private ready = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private readonly stop: () => void;

  constructor(private readonly membership: ClusterMembership) {
    this.stop = membership.onChange((heartbeats) => this.look(heartbeats));
  }

  /**
   * A signal that aborts when nobody has held the model for `patienceMs` (by default 2 s: a worker that restarts its
   * heartbeat is not gone), and the end of watching it.
   */
  watch(modelId: string, patienceMs = confirmMs): { lost: AbortSignal; release: () => void } {
    const entry: Watch = { modelId, controller: new AbortController(), patienceMs, orphanedAtMs: null };
    this.watches.add(entry);
    // The last holder may have gone just before: then no change is left to hear of.
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
        const leftMs = entry.orphanedAtMs + this.patienceWith(entry, heartbeats) - nowMs;
        if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
        else this.giveUp(entry);
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

  /** A model that was unloaded, or whose worker was lost, is new when it loads. */
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

  /** A worker that died comes back with its models; one that lives without a model was told to. */
  private patienceWith({ modelId, patienceMs }: Watch, heartbeats: Heartbeat[]): number {
    if (heartbeats.some(({ processId }) => this.away.has(`${processId} ${modelId}`)))
      return Math.max(patienceMs, hostAwayMs);
    const replicas = this.lastReplicas.get(modelId) ?? [];
    const isRemoved = heartbeats.some(({ processId }) => replicas.includes(processId));
    return isRemoved ? Math.min(confirmMs, patienceMs) : patienceMs;
  }

  private giveUp(entry: Watch): void {
    this.watches.delete(entry);
    entry.controller.abort();
  }
}
