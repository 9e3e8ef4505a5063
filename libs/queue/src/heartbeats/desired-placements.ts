/** A model that the workers of a pool should hold. */
export interface Placement {
  modelId: string;
  pool: string;
  /** Never unloaded to make room. */
  pinned: boolean;
  /** How many workers of the pool hold it; null: all. */
  replicas: number | null;
}

/** All placements, as the database has them. A higher revision replaces a lower one. */
export interface DesiredPlacements {
  revision: number;
  placements: readonly Placement[];
}

export interface PlacementListeners {
  onDesired?: (desired: DesiredPlacements) => void;
  /** A worker wants to hear the desired placements. */
  onAsk?: () => void;
  /** A caller asked for a model that nobody held. */
  onMiss?: (modelId: string) => void;
}

/** Which models workers should hold, told to all of them. Lossy: whoever keeps the placements repeats them. */
export interface PlacementBus {
  /** Rejects with the error of a store that is away. */
  announce(desired: DesiredPlacements): Promise<void>;
  /** Asks for an announcement, now and after each time that messages may have been lost. Never throws. */
  ask(): void;
  /** Never throws and never waits; at most one a second and model leaves this process. */
  miss(modelId: string): void;
  /** The returned function unsubscribes. */
  subscribe(listeners: PlacementListeners): () => void;
}
