import type { Metrics } from '#platform/metrics';
import type { HoldingWorker } from './worker-heartbeat.js';

/** What models take of the devices, what they may take, and how often one had to go. */
export function registerResidencyMetrics(metrics: Metrics, worker: HoldingWorker): void {
  const { residency } = worker;
  metrics.observedGauge({
    name: 'sluice_memory_budget_bytes',
    help: 'Memory that all models of the worker together may take.',
    labelNames: ['device'],
    read: (observe) => {
      for (const [device, bytes] of Object.entries(residency.budget)) observe({ device }, bytes);
    },
  });
  metrics.observedGauge({
    name: 'sluice_model_memory_bytes',
    help: 'Memory that a loaded model takes, as it was measured.',
    labelNames: ['model', 'device'],
    read: (observe) => {
      for (const served of worker.models) {
        for (const [device, bytes] of Object.entries(residency.memoryOf(served) ?? {})) {
          observe({ model: served.id, device }, bytes);
        }
      }
    },
  });
  metrics.observedGauge({
    name: 'sluice_models_without_replica',
    help: 'Models that the worker should hold and does not, by cause.',
    labelNames: ['cause'],
    read: (observe) => {
      for (const cause of ['too-large', 'not-installed', 'waiting'] as const) {
        observe({ cause }, worker.withoutReplica.filter((withoutReplica) => withoutReplica.cause === cause).length);
      }
    },
  });
  metrics.observedCounter({
    name: 'sluice_model_evictions_total',
    help: 'Times that a model was unloaded to make room.',
    labelNames: ['model'],
    read: (observe) => {
      for (const [model, count] of residency.evictionCounts) observe({ model }, count);
    },
  });
}
