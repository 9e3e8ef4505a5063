import type { Metrics } from '#platform/metrics';
import type { Readiness } from './readiness.js';

/** `sluice_ready` and `sluice_dependency_up{dependency}`: the state of `/health/ready` as metrics. */
export function registerReadinessGauges(metrics: Metrics, readiness: Readiness): void {
  metrics.observedGauge({
    name: 'sluice_ready',
    help: '1 while the process accepts work: its dependencies respond, and it is not stopping.',
    labelNames: [],
    read: async (observe) => observe({}, (await readiness.report()).status === 'ok' ? 1 : 0),
  });
  metrics.observedGauge({
    name: 'sluice_dependency_up',
    help: '1 while a required dependency of the process responds.',
    labelNames: ['dependency'],
    read: async (observe) => {
      const { checks } = await readiness.report();
      const dependencies = Object.entries(checks).filter(([name]) => !readiness.startupChecks.has(name));
      for (const [dependency, state] of dependencies) observe({ dependency }, state === 'ok' ? 1 : 0);
    },
  });
}
