/*
 * Which pools of workers hold which models. The shapes are those of the queue's bus, which this library does not know:
 * what is read here is told there as it is.
 */

/** A model that the workers of a pool should hold. */
export interface ModelPlacement {
  modelId: string;
  pool: string;
  /** Never unloaded to make room. */
  pinned: boolean;
  /** How many workers of the pool hold it; null: all. */
  replicas: number | null;
}

export interface DesiredState {
  /** Counts the changes. */
  revision: number;
  placements: ModelPlacement[];
}

/** A model as a worker says that it holds it. */
export interface ServedByWorker {
  modelId: string;
  state: string;
  provider: string;
  /** Bytes, by device; absent: not measured yet. */
  memory?: Readonly<Record<string, number>>;
}

/** What a worker says of itself. */
export interface WorkerState {
  processId: string;
  pools: readonly string[];
  /** Bytes that models may take, by device. */
  budgets: Readonly<Record<string, number>>;
  models: readonly ServedByWorker[];
  /** What it should hold and does not. */
  withoutReplica: readonly { modelId: string; cause: string; reason: string }[];
  seenAt: Date;
}

/** Names of pools: they stand in labels, variables and metrics. */
export const poolPattern = /^[a-z0-9][a-z0-9._-]{0,62}$/;
