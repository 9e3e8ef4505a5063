import type { Metrics } from './metrics.js';

/** Jobs of one model in the queue, as `QueueCounts` of `#queue` has them. */
export interface QueueReading {
  modality: string;
  modelId: string;
  waiting: number;
  active: number;
}

/** One loaded model of a worker. */
export interface EngineReading {
  modelId: string;
  provider: string;
  slots: number;
  running: number;
  /** Bytes of the model host. */
  residentBytes?: number;
}

/** `sluice_queue_jobs{modality,model,state}`. */
export function registerQueueGauges(metrics: Metrics, read: () => Promise<QueueReading[]>): void {
  metrics.observedGauge({
    name: 'sluice_queue_jobs',
    help: 'Jobs in the queue of a model.',
    labelNames: ['modality', 'model', 'state'],
    read: async (observe) => {
      for (const reading of await read()) {
        const labels = { modality: reading.modality, model: reading.modelId };
        observe({ ...labels, state: 'waiting' }, reading.waiting);
        observe({ ...labels, state: 'active' }, reading.active);
      }
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
