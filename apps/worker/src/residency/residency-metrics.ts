import type { Metrics } from '#platform/metrics';
import type { HeartbeatSource } from './worker-heartbeat.js';

/** Memory usage and budgets of models, and evictions. */
export function registerResidencyMetrics(metrics: Metrics, worker: HeartbeatSource): void {
  const { residency } = worker;
  metrics.observedGauge({
    name: 'sluice_memory_budget_bytes',
    help: 'Memory budget of all models of the worker together.',
    labelNames: ['device'],
    read: (observe) => {
      for (const [device, bytes] of Object.entries(residency.budget)) observe({ device }, bytes);
    },
  });
  metrics.observedGauge({
    name: 'sluice_model_memory_bytes',
    help: 'Measured memory of a loaded model.',
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
    help: 'Models that the worker should have loaded but has not, by reason.',
    labelNames: ['cause'],
    read: (observe) => {
      for (const cause of ['too-large', 'not-installed', 'waiting', 'failed'] as const) {
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
