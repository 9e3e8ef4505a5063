import type { Metrics } from '#platform/metrics';
import type { Readiness } from './readiness.js';

/** `sluice_ready` and `sluice_dependency_up{dependency}`: `/health/ready` and `/health/dependencies` as metrics. */
export function registerReadinessGauges(metrics: Metrics, readiness: Readiness): void {
  metrics.observedGauge({
    name: 'sluice_ready',
    help: '1 while the process accepts work, as GET /health/ready reports it.',
    labelNames: [],
    read: async (observe) => observe({}, (await readiness.report()).status === 'ok' ? 1 : 0),
  });
  metrics.observedGauge({
    name: 'sluice_dependency_up',
    help: '1 while a dependency of the process responds.',
    labelNames: ['dependency'],
    read: async (observe) => {
      const { checks } = await readiness.dependencies();
      for (const [dependency, state] of Object.entries(checks)) observe({ dependency }, state === 'ok' ? 1 : 0);
    },
  });
}
