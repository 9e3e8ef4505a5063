/** A model held by a worker, as it tells everyone every `heartbeatMs`. */
export interface ServedModelState {
  modelId: string;
  /** The modalities whose jobs it takes. */
  modalities: readonly string[];
  state: 'loading' | 'ready' | 'draining';
  /** Requests it can run at once, and runs now. */
  slots: number;
  running: number;
  /** Execution provider: `cpu`, `cuda`… */
  provider: string;
  /** Bytes it takes, by device, rounded. Absent: a worker of an earlier version, or not measured yet. */
  memory?: Readonly<Record<string, number>>;
}

/** A model that a worker should hold and does not, and why in words. */
export interface ModelWithoutReplica {
  modelId: string;
  /**
   * `waiting`: it would be held if there were room; the others last until an operator changes something.
   * `not-installed` is also one whose folder cannot be read.
   */
  cause: 'too-large' | 'not-installed' | 'waiting';
  reason: string;
}

/** What a worker says of itself beside its models; optional because workers of an earlier version say nothing. */
export interface WorkerHeartbeat {
  /** `SLUICE_POOL`. */
  pools: readonly string[];
  /** Bytes that models may take, by device. */
  budgets: Readonly<Record<string, number>>;
  withoutReplica: readonly ModelWithoutReplica[];
}

/** One process as the others see it. */
export interface Heartbeat {
  processId: string;
  role: 'api' | 'worker' | 'ops';
  /** Mailbox address of an api, null elsewhere. */
  replyAddress: string | null;
  models: ServedModelState[];
  /** Names of the queues whose sticky jobs the process claims; `ClusterMembership` adds it. Absent: none. */
  claims?: readonly string[];
  worker?: WorkerHeartbeat;
  /** False once: the process says good-bye. */
  alive: boolean;
}

/** Who is there: heartbeats over the bus; a process silent for `lostAfterMs` is gone. */
export interface ClusterMembership {
  /** Starts sending `describe()` at every beat, and at once when `announce` is called. */
  join(describe: () => Omit<Heartbeat, 'alive' | 'claims'>): Promise<void>;
  announce(): Promise<void>;
  /**
   * Ms that the newest beat of this process took over the bus and back, or how long one has been on its way by now; null
   * until the first one is back. One clock measures it.
   */
  readonly lagMs: number | null;
  /** The processes heard of within `lostAfterMs`. */
  list(): Heartbeat[];
  /** Called when a process appears, changes its models, says good-bye, or falls silent. */
  onChange(listener: (heartbeats: Heartbeat[]) => void): () => void;
}
