/*
 * Which worker pools serve which models. The types equal those of the queue's bus, on which this library does not
 * depend.
 */

/** A model that the workers of a pool should serve. */
export interface ModelPlacement {
  modelId: string;
  pool: string;
  /** Never unloaded to make room. */
  pinned: boolean;
  /** Number of workers of the pool that serve it; null for all. */
  replicas: number | null;
}

export interface DesiredState {
  /** Incremented by every change. */
  revision: number;
  placements: ModelPlacement[];
}

/** A model as reported by the worker that serves it. */
export interface ServedByWorker {
  modelId: string;
  state: string;
  provider: string;
  /** Why the first provider in its order of preference is not used; absent: it is. */
  providerNote?: string;
  /** Bytes by device; absent before the first measurement. */
  memory?: Readonly<Record<string, number>>;
}

/** A worker's report about itself. */
export interface WorkerState {
  processId: string;
  pools: readonly string[];
  /** Memory budget for models in bytes, by device. */
  budgets: Readonly<Record<string, number>>;
  models: readonly ServedByWorker[];
  /** Models that it should serve but does not. */
  withoutReplica: readonly { modelId: string; cause: string; reason: string }[];
  seenAt: Date;
}

/** Valid pool names; they are used in labels, variables and metrics. */
export const poolPattern = /^[a-z0-9][a-z0-9._-]{0,62}$/;
