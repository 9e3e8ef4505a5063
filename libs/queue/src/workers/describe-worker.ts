import type { Heartbeat, ModelWithoutReplica, ServedModelState } from '../contract/heartbeat.js';

/** A worker as operators see it. Members that it does not report are null. */
export interface DescribedWorker {
  id: string;
  state: 'active' | 'drained';
  pools: readonly string[];
  host: string | null;
  pod: string | null;
  address: string | null;
  version: string | null;
  since: string | null;
  running: number;
  slots: number;
  /** Memory budget for models in bytes, by device. */
  budgets: Readonly<Record<string, number>>;
  models: readonly ServedModelState[];
  withoutReplica: readonly ModelWithoutReplica[];
}

export function describeWorker(heartbeat: Heartbeat): DescribedWorker {
  const { processId: id, models, worker } = heartbeat;
  const { host, pod, address, version, startedAtMs } = worker?.process ?? {};
  return {
    id,
    state: worker?.isDrained === true ? 'drained' : 'active',
    pools: worker?.pools ?? [],
    host: host ?? null,
    pod: pod ?? null,
    address: address ?? null,
    version: version ?? null,
    since: startedAtMs === undefined ? null : new Date(startedAtMs).toISOString(),
    running: runningJobs(heartbeat),
    slots: models.reduce((sum, { slots }) => sum + slots, 0),
    budgets: worker?.budgets ?? {},
    models,
    withoutReplica: worker?.withoutReplica ?? [],
  };
}

/** Jobs that a worker runs now. */
export function runningJobs({ models }: Pick<Heartbeat, 'models'>): number {
  return models.reduce((sum, { running }) => sum + running, 0);
}

/** Returns the workers that are heard on the bus, by id. */
export function heardWorkers(heartbeats: readonly Heartbeat[]): Heartbeat[] {
  return heartbeats
    .filter(({ role }) => role === 'worker')
    .toSorted((left, right) => left.processId.localeCompare(right.processId));
}
