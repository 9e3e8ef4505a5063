import type { DesiredPlacements, Placement, PlacementBus, Heartbeat } from '#queue';

/** Pause between two requests while no placements were received, in ms. */
const askEveryMs = 2_000;

/**
 * After so long without placements of its known version, a worker accepts an older one, since the database may have
 * been restored. In ms.
 */
const acceptOlderAfterMs = 60_000;

/**
 * Models placed in the pools of this worker, as last published. The last known state stays until a newer one arrives.
 */
export class DesiredModels {
  private known: DesiredPlacements = { revision: -1, placements: [] };
  private receivedAtMs = -Infinity;
  private changes = 0;
  private timer: NodeJS.Timeout | null = null;
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly options: {
      bus: PlacementBus;
      pools: readonly string[];
      onChange: () => void;
      /** Called when a client requested a model without a replica. */
      onUnserved: (modelId: string) => void;
    },
  ) {}

  start(): void {
    const { bus, pools, onUnserved } = this.options;
    this.unsubscribe = bus.subscribe({ onDesired: (desired) => this.receive(desired), onUnserved });
    if (pools.length === 0) return;
    bus.ask();
    this.timer = setInterval(() => bus.ask(), askEveryMs);
  }

  stop(): void {
    this.unsubscribe();
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Changes with the known placements; null while a worker with pools has received none. */
  get version(): number | null {
    return this.options.pools.length > 0 && this.changes === 0 ? null : this.changes;
  }

  /** Placements in the pools of this worker, by model. Of two, the more demanding one applies. */
  placements(): Map<string, Placement[]> {
    const found = new Map<string, Placement[]>();
    for (const placement of this.known.placements) {
      if (!this.options.pools.includes(placement.pool)) continue;
      found.set(placement.modelId, [...(found.get(placement.modelId) ?? []), placement]);
    }
    return found;
  }

  /** True for a model that every worker of one of its pools is to serve. */
  isForAll(modelId: string): boolean {
    return (
      this.placements()
        .get(modelId)
        ?.some(({ replicas }) => replicas === null) ?? false
    );
  }

  private receive(desired: DesiredPlacements): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    const nowMs = performance.now();
    if (desired.revision < this.known.revision && nowMs - this.receivedAtMs < acceptOlderAfterMs) return;
    this.receivedAtMs = nowMs;
    const isFirst = this.changes === 0;
    const isNews = isFirst || JSON.stringify(desired.placements) !== JSON.stringify(this.known.placements);
    this.known = desired;
    if (!isNews) return;
    this.changes++;
    this.options.onChange();
  }
}

/**
 * True when this worker should load a placed model. Every worker of the pool decides alike from all heartbeats: workers
 * that have it come first, then a hash spreads models over workers. Workers that cannot load it do not count.
 */
export function isChosen(
  { modelId, pool, replicas }: Placement,
  self: { processId: string; holds: boolean; canLoad: boolean },
  heartbeats: readonly Heartbeat[],
): boolean {
  if (replicas === null) return true;
  if (!self.canLoad) return false;
  const others = heartbeats
    .filter(({ processId, worker }) => processId !== self.processId && worker?.pools.includes(pool) === true)
    .filter(({ onlyModels }) => onlyModels?.includes(modelId) !== false)
    .filter(({ worker }) => !worker?.withoutReplica.some((withoutReplica) => withoutReplica.modelId === modelId))
    .map(({ processId, models }) => ({
      processId,
      holds: models.some((held) => held.modelId === modelId && held.state !== 'draining'),
    }));
  const before = others.filter((other) =>
    other.holds === self.holds ? rank(modelId, other.processId) < rank(modelId, self.processId) : other.holds,
  );
  return before.length < replicas;
}

/** 32-bit FNV-1a: the same on every worker. */
function rank(modelId: string, processId: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${modelId} ${processId}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash;
}
