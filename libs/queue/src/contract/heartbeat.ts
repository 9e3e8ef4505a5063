import type { RunMemory } from '#model-memory';

/** A model that a worker serves, as announced with every heartbeat. */
export interface ServedModelState {
  modelId: string;
  /** The modalities whose jobs it takes. */
  modalities: readonly string[];
  state: 'loading' | 'ready' | 'draining';
  /** Requests it can run at once, and currently runs. */
  slots: number;
  running: number;
  /** Requests that it can run beyond `slots`, of accounts that have had less than their share. Absent: none. */
  spareSlots?: number;
  /** Jobs that ended since it was loaded, which tells how many it can do. Absent: a worker of an earlier version, or an adapter. */
  ended?: number;
  /** Execution provider: `cpu`, `cuda`… */
  provider: string;
  /** Why the worker does not use its preferred provider. Absent: it does, or it is of an earlier version. */
  providerNote?: string;
  /** Bytes it occupies, by device, rounded. Absent: a worker of an earlier version, or not measured yet. */
  memory?: Readonly<Record<string, number>>;
  /** Memory of a run, and what is available for it. Absent: it does not depend on the request, or is not known yet. */
  run?: RunMemory;
  /** The key of the host that runs it now. Absent: the host has none. */
  tee?: HostTeeState;
}

/** The key of a model host, valid as long as its process runs. An adapter has the key of its base. */
export interface HostTeeState {
  /** Uncompressed secp256k1 key: 130 hex characters. */
  publicKey: string;
  /** Address of the key: `0x` and 40 hex characters. */
  address: string;
  /** The provider of the evidence for the key; `software` when there is none. */
  provider: string;
}

/** A model that a worker should serve and does not, with the reason. */
export interface ModelWithoutReplica {
  modelId: string;
  /**
   * `waiting`: it would be loaded if there were memory. `failed`: its loads fail, and it is tried again rarely. The
   * others last until an operator changes something. `not-installed` also covers an unreadable folder.
   */
  cause: 'too-large' | 'not-installed' | 'waiting' | 'failed';
  reason: string;
}

/**
 * What a worker reports about itself in addition to its models. Optional, because workers of an earlier version do not
 * report it.
 */
export interface WorkerHeartbeat {
  /** The pools that `SLUICE_POOL` names. */
  pools: readonly string[];
  /** Memory budget for models in bytes, by device. */
  budgets: Readonly<Record<string, number>>;
  withoutReplica: readonly ModelWithoutReplica[];
  /** Absent: a worker of an earlier version. */
  process?: WorkerProcess;
  /** True when the worker takes no jobs because an operator drained it. */
  isDrained?: boolean;
}

/** The host of a worker and the time of its start, for operators. */
export interface WorkerProcess {
  host: string;
  /** Absent outside of Kubernetes. */
  pod?: string;
  /** Address of its health and metrics. */
  address: string;
  /** The version, as in `x-service-version`. */
  version: string;
  /** Start time by the worker's own clock, in ms since the epoch. */
  startedAtMs: number;
}

/** One process, as the others see it. */
export interface Heartbeat {
  processId: string;
  role: 'api' | 'worker' | 'ops';
  /** Reply address of an api, null elsewhere. */
  replyAddress: string | null;
  models: ServedModelState[];
  /** Names of the queues whose sticky jobs the process claims, added by `ClusterMembership`. Absent: none. */
  claims?: readonly string[];
  worker?: WorkerHeartbeat;
  /**
   * The models whose keys the process has, added by `ClusterMembership` after it has verified them. Absent: all models.
   */
  onlyModels?: readonly string[];
  /** False once: the process leaves. */
  alive: boolean;
}

/** Cluster membership: heartbeats over the bus; a process silent for `lostAfterMs` is gone. */
export interface ClusterMembership {
  /** Starts sending `describe()` with every heartbeat, and immediately when `announce` is called. */
  join(describe: () => Omit<Heartbeat, 'alive' | 'claims'>): Promise<void>;
  announce(): Promise<void>;
  /**
   * Round-trip time of this process's newest heartbeat over the bus, or the age of one still on its way, in ms; null
   * until the first one is back. Measured by one clock.
   */
  readonly lagMs: number | null;
  /**
   * Counts, by pool, the workers that fell silent without leaving since this process started. Every pool that was heard
   * from has a count, even if it is 0.
   */
  readonly lostWorkers: ReadonlyMap<string, number>;
  /** The processes heard from within `lostAfterMs`. */
  list(): Heartbeat[];
  /** Called when a process appears, changes its models, leaves, or falls silent. */
  onChange(listener: (heartbeats: Heartbeat[]) => void): () => void;
}
