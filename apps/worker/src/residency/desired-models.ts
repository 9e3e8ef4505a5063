import type { DesiredPlacements, Placement, PlacementBus, Heartbeat } from '#queue';

/** Pause between two questions while nothing was heard yet, in ms. */
const askEveryMs = 2_000;

/** After so long without the placements that it knows, a worker believes older ones: the database was put back. In ms. */
const believeOlderAfterMs = 60_000;

/** What the pools of this worker should hold, as it was last told. What it knows stays while nobody tells it anything. */
export class DesiredModels {
  private known: DesiredPlacements = { revision: -1, placements: [] };
  private heardAtMs = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly options: {
      bus: PlacementBus;
      pools: readonly string[];
      onChange: () => void;
      /** A caller asked for a model that nobody held. */
      onMiss: (modelId: string) => void;
    },
  ) {}

  start(): void {
    const { bus, pools, onMiss } = this.options;
    this.unsubscribe = bus.subscribe({ onDesired: (desired) => this.hear(desired), onMiss });
    if (pools.length === 0) return;
    bus.ask();
    this.timer = setInterval(() => bus.ask(), askEveryMs);
  }

  stop(): void {
    this.unsubscribe();
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Placements in pools of this worker, by model; the more demanding one where there are two. */
  placements(): Map<string, Placement[]> {
    const found = new Map<string, Placement[]>();
    for (const placement of this.known.placements) {
      if (!this.options.pools.includes(placement.pool)) continue;
      found.set(placement.modelId, [...(found.get(placement.modelId) ?? []), placement]);
    }
    return found;
  }

  private hear(desired: DesiredPlacements): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    const nowMs = performance.now();
    if (desired.revision < this.known.revision && nowMs - this.heardAtMs < believeOlderAfterMs) return;
    this.heardAtMs = nowMs;
    const isNews = JSON.stringify(desired.placements) !== JSON.stringify(this.known.placements);
    this.known = desired;
    if (isNews) this.options.onChange();
  }
}

/**
 * Whether this worker is one of those that hold a placed model. Every worker of the pool decides alike from what all say:
 * those that hold it already first, then by a hash that spreads models over workers. Those that cannot hold it do not count.
 */
export function isChosen(
  { modelId, pool, replicas }: Placement,
  self: { processId: string; holds: boolean; canHold: boolean },
  heartbeats: readonly Heartbeat[],
): boolean {
  if (replicas === null) return true;
  if (!self.canHold) return false;
  const others = heartbeats
    .filter(({ processId, worker }) => processId !== self.processId && worker?.pools.includes(pool) === true)
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

/** FNV-1a over 32 bits: alike on every worker. */
function rank(modelId: string, processId: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${modelId} ${processId}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash;
}
