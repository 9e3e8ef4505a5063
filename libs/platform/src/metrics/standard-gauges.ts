import type { Metrics } from './metrics.js';

/** Queue jobs of one model, from `QueueCounts` of `#queue`. */
export interface QueueReading {
  modality: string;
  modelId: string;
  counts: Record<QueueJobState, number>;
}

/** `waiting` and `active` together are the load of a worker pool. */
export const queueJobStates = ['waiting', 'active', 'delayed'] as const;
export type QueueJobState = (typeof queueJobStates)[number];

/** One loaded model of a worker. */
export interface EngineReading {
  modelId: string;
  provider: string;
  slots: number;
  running: number;
  /** Resident memory of the model host, in bytes. */
  residentBytes?: number;
}

/** `sluice_queue_jobs{modality,model,state}`. Every replica reads the same store: aggregate with `max by`, never `sum`. */
export function registerQueueGauges(metrics: Metrics, read: () => Promise<QueueReading[]>): void {
  metrics.observedGauge({
    name: 'sluice_queue_jobs',
    help: 'Jobs in the queue of a model; the same from every replica.',
    labelNames: ['modality', 'model', 'state'],
    read: async (observe) => {
      for (const { modality, modelId, counts } of await read()) {
        for (const state of queueJobStates) observe({ modality, model: modelId, state }, counts[state]);
      }
    },
  });
}

/** `sluice_queue_call_failures_total`; `read` returns `failedCalls` of `#queue`. */
export function registerQueueFailures(metrics: Metrics, read: () => number): void {
  metrics.observedCounter({
    name: 'sluice_queue_call_failures_total',
    help: 'Queue operations that failed, or were skipped because the store is unavailable.',
    labelNames: [],
    read: (observe) => observe({}, read()),
  });
}

/** `sluice_bus_messages_refused_total{reason}`; `read` returns `refusedMessages` of `#queue`. */
export function registerRefusedMessages(metrics: Metrics, read: () => ReadonlyMap<string, number>): void {
  metrics.observedCounter({
    name: 'sluice_bus_messages_refused_total',
    help: 'Messages on the bus that were forged, replayed, too old, or beyond what their sender may say.',
    labelNames: ['reason'],
    read: (observe) => {
      for (const [reason, count] of read()) observe({ reason }, count);
    },
  });
}

/** `sluice_bus_lag_seconds`; `read` returns ms, or null while unknown. */
export function registerBusLag(metrics: Metrics, read: () => number | null): void {
  metrics.observedGauge({
    name: 'sluice_bus_lag_seconds',
    help: 'Round-trip time over the bus of the latest heartbeat of this process, or its age while it is under way.',
    labelNames: [],
    read: (observe) => {
      const lagMs = read();
      if (lagMs !== null) observe({}, lagMs / 1_000);
    },
  });
}

/** `sluice_engine_slots`, `sluice_engine_running_requests`, `sluice_engine_resident_bytes`, each `{model,provider}`. */
export function registerEngineGauges(metrics: Metrics, read: () => EngineReading[]): void {
  const gauges = [
    ['sluice_engine_slots', 'Requests a model can run at once.', (reading: EngineReading) => reading.slots],
    ['sluice_engine_running_requests', 'Requests a model runs now.', (reading: EngineReading) => reading.running],
    ['sluice_engine_resident_bytes', 'Memory of a model host.', (reading: EngineReading) => reading.residentBytes],
  ] as const;
  for (const [name, help, pick] of gauges) {
    metrics.observedGauge({
      name,
      help,
      labelNames: ['model', 'provider'],
      read: (observe) => {
        for (const reading of read()) {
          const value = pick(reading);
          if (value !== undefined) observe({ model: reading.modelId, provider: reading.provider }, value);
        }
      },
    });
  }
}
