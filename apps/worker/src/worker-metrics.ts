import { type EngineReading, type Metrics, registerEngineGauges } from '#platform/metrics';
import type { AnyEngineStats, HostReport } from '#inference/host';
import type { ServedModel } from './served-model.js';

/** What each host last told, as gauges: totals start anew with a new host, as counters of a new process do. */
export function registerWorkerMetrics(metrics: Metrics, models: () => ServedModel[]): void {
  registerEngineGauges(metrics, () => models().flatMap(engineReading));
  for (const { name, help, pick } of statGauges) {
    metrics.observedGauge({
      name,
      help,
      labelNames: ['model'],
      read: (observe) => {
        for (const model of models()) {
          const stats = model.host.report?.stats;
          const value = stats ? pick(stats) : undefined;
          // Only engines of text have a cache and tokens.
          if (value !== undefined) observe({ model: model.id }, value);
        }
      },
    });
  }
  for (const { name, help, pick } of hostGauges) {
    metrics.observedGauge({
      name,
      help,
      labelNames: ['model'],
      read: (observe) => {
        for (const model of models()) observe({ model: model.id }, pick(model));
      },
    });
  }
}

function engineReading(model: ServedModel): EngineReading[] {
  const { report, running } = model.host;
  if (report === null) return [];
  const { provider, slots, residentBytes } = report;
  return [{ modelId: model.id, provider, slots, running, residentBytes }];
}

const statGauges: { name: string; help: string; pick: (stats: AnyEngineStats) => number | undefined }[] = [
  { name: 'sluice_engine_running_sequences', help: 'Choices in the batch now.', pick: (stats) => stats.running },
  { name: 'sluice_engine_waiting_sequences', help: 'Choices waiting for a slot.', pick: (stats) => stats.waiting },
  { name: 'sluice_engine_cache_tokens', help: 'Tokens of cache in use.', pick: (stats) => stats.cacheTokens },
  {
    name: 'sluice_engine_cache_capacity_tokens',
    help: 'Tokens of cache that fit.',
    pick: (stats) => stats.cacheCapacityTokens,
  },
  {
    name: 'sluice_engine_prompt_tokens_total',
    help: 'Prompt tokens since the host started.',
    pick: (stats) => stats.promptTokensTotal,
  },
  {
    name: 'sluice_engine_cached_tokens_total',
    help: 'Prompt tokens found in a cached prefix since the host started.',
    pick: (stats) => stats.cachedTokensTotal,
  },
  {
    name: 'sluice_engine_generated_tokens_total',
    help: 'Tokens generated since the host started.',
    pick: (stats) => stats.generatedTokensTotal,
  },
  { name: 'sluice_engine_steps_total', help: 'Steps since the host started.', pick: (stats) => stats.stepsTotal },
  {
    name: 'sluice_engine_run_seconds_total',
    help: 'Time inside the session since the host started.',
    pick: (stats) => stats.runMsTotal / 1_000,
  },
];

const hostGauges: { name: string; help: string; pick: (model: ServedModel) => number }[] = [
  {
    name: 'sluice_host_restarts_total',
    help: 'Hosts of the model that had to be replaced.',
    pick: (model) => model.host.restarts,
  },
  {
    name: 'sluice_host_ready',
    help: '1 while the host of the model is ready.',
    pick: (model) => (model.host.state === 'ready' ? 1 : 0),
  },
  {
    name: 'sluice_host_loop_lag_seconds',
    help: 'Delay of the host’s event loop in the last second, 99th percentile.',
    pick: (model) => loopLag(model.host.report),
  },
];

function loopLag(report: HostReport | null): number {
  return (report?.loopLagMs ?? 0) / 1_000;
}
