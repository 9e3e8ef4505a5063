/** A model that the workers of a pool should serve. */
export interface Placement {
  modelId: string;
  pool: string;
  /** Never unloaded to make room. */
  pinned: boolean;
  /** Number of workers of the pool that serve it; null for all. */
  replicas: number | null;
}

/** All placements, as the database has them. A higher revision replaces a lower one. */
export interface DesiredPlacements {
  revision: number;
  placements: readonly Placement[];
}

export interface PlacementListeners {
  onDesired?: (desired: DesiredPlacements) => void;
  /** A worker requests the desired placements. */
  onAsk?: () => void;
  /** Called when a client requested a model without a replica. */
  onUnserved?: (modelId: string) => void;
}

/** Publishes to workers which models they should serve. Lossy: the publisher repeats the placements. */
export interface PlacementBus {
  /** Rejects with the error of an unavailable store. */
  announce(desired: DesiredPlacements): Promise<void>;
  /** Requests an announcement, now and after each possible loss of messages. Never throws. */
  ask(): void;
  /** Never throws and never waits; sends at most one message per second and model from this process. */
  reportUnserved(modelId: string): void;
  /** The returned function unsubscribes. */
  subscribe(listeners: PlacementListeners): () => void;
}
