import { type EngineReading, type Metrics, registerEngineGauges } from '#platform/metrics';
import type { AnyEngineStats, HostReport } from '#inference/host';
import type { ServedModel } from './served-model.js';
import { registerTimings } from './timing-metrics.js';

/** Last reported state and timings of each host. Totals reset with a new host, like counters of a new process. */
export function registerWorkerMetrics(metrics: Metrics, models: () => ServedModel[]): void {
  registerEngineGauges(metrics, () => models().flatMap(engineReading));
  for (const { name, help, pick, kind } of statFigures) {
    metrics[kind]({
      name,
      help,
      labelNames: ['model'],
      read: (observe) => {
        for (const model of models()) {
          const stats = model.host.report?.stats;
          const value = stats ? pick(stats) : undefined;
          // Only text engines have a KV cache and tokens.
          if (value !== undefined) observe({ model: model.id }, value);
        }
      },
    });
  }
  for (const { name, help, pick, kind } of hostFigures) {
    metrics[kind]({
      name,
      help,
      labelNames: ['model'],
      read: (observe) => {
        for (const model of models()) observe({ model: model.id }, pick(model));
      },
    });
  }
  metrics.observedHistogram({
    name: 'sluice_engine_step_duration_seconds',
    help: 'Time of one model run, for all rows of the batch.',
    labelNames: ['model'],
    read: (observe) => {
      for (const model of models()) {
        const histogram = model.host.report?.stats?.stepSeconds;
        if (histogram !== undefined) observe({ model: model.id }, histogram);
      }
    },
  });
  metrics.observedGauge({
    name: 'sluice_host_provider_fallback',
    help: '1 while a model runs on another execution provider than the first of SLUICE_PROVIDERS.',
    labelNames: ['model', 'provider', 'preferred'],
    read: (observe) => {
      for (const { id, fallback } of models()) {
        if (fallback === null) continue;
        const { provider, preferred } = fallback;
        observe({ model: id, provider, preferred }, 1);
      }
    },
  });
  registerTimings(metrics, models);
}

function engineReading(model: ServedModel): EngineReading[] {
  const { report, running } = model.host;
  if (report === null) return [];
  const { provider, slots, residentBytes } = report;
  return [{ modelId: model.id, provider, slots, running, residentBytes }];
}

type Kind = 'observedGauge' | 'observedCounter';

const statFigures: {
  name: string;
  help: string;
  kind: Kind;
  pick: (stats: AnyEngineStats) => number | undefined;
}[] = [
  {
    name: 'sluice_engine_running_sequences',
    kind: 'observedGauge',
    help: 'Choices in the running batch.',
    pick: (stats) => stats.running,
  },
  {
    name: 'sluice_engine_waiting_sequences',
    kind: 'observedGauge',
    help: 'Choices waiting for a slot.',
    pick: (stats) => stats.waiting,
  },
  {
    name: 'sluice_engine_cache_tokens',
    kind: 'observedGauge',
    help: 'KV cache tokens in use.',
    pick: (stats) => stats.cacheTokens,
  },
  {
    name: 'sluice_engine_cache_capacity_tokens',
    kind: 'observedGauge',
    help: 'KV cache capacity in tokens.',
    pick: (stats) => stats.cacheCapacityTokens,
  },
  {
    name: 'sluice_engine_prompt_tokens_total',
    kind: 'observedCounter',
    help: 'Prompt tokens since the host started.',
    pick: (stats) => stats.promptTokensTotal,
  },
  {
    name: 'sluice_engine_cached_tokens_total',
    kind: 'observedCounter',
    help: 'Prompt tokens found in a cached prefix since the host started.',
    pick: (stats) => stats.cachedTokensTotal,
  },
  {
    name: 'sluice_engine_generated_tokens_total',
    kind: 'observedCounter',
    help: 'Tokens generated since the host started.',
    pick: (stats) => stats.generatedTokensTotal,
  },
  {
    name: 'sluice_engine_draft_tokens_total',
    kind: 'observedCounter',
    help: 'Tokens that prompt lookup drafted since the host started.',
    pick: (stats) => stats.draftTokensTotal,
  },
  {
    name: 'sluice_engine_accepted_draft_tokens_total',
    kind: 'observedCounter',
    help: 'Drafted tokens that were right since the host started.',
    pick: (stats) => stats.acceptedDraftTokensTotal,
  },
  {
    name: 'sluice_engine_steps_total',
    kind: 'observedCounter',
    help: 'Steps since the host started.',
    pick: (stats) => stats.stepsTotal,
  },
  {
    name: 'sluice_engine_run_seconds_total',
    kind: 'observedCounter',
    help: 'Time inside the session since the host started.',
    pick: (stats) => stats.runMsTotal / 1_000,
  },
];

const hostFigures: { name: string; help: string; kind: Kind; pick: (model: ServedModel) => number }[] = [
  {
    name: 'sluice_host_restarts_total',
    kind: 'observedCounter',
    help: 'Hosts of the model that were replaced.',
    pick: (model) => model.host.restarts,
  },
  {
    name: 'sluice_host_ready',
    kind: 'observedGauge',
    help: '1 while the host of the model is ready.',
    pick: (model) => (model.host.state === 'ready' ? 1 : 0),
  },
  {
    name: 'sluice_queue_consumer_restarts_total',
    kind: 'observedCounter',
    help: 'Restarts of the model’s queue consumer because jobs waited and none arrived.',
    pick: (model) => model.restarts,
  },
  {
    name: 'sluice_queue_consumer_stalled',
    kind: 'observedGauge',
    help: '1 while restarts of the consumer do not help: /health/live fails.',
    pick: (model) => (model.isStalled ? 1 : 0),
  },
  {
    name: 'sluice_host_loop_lag_seconds',
    kind: 'observedGauge',
    help: 'Event loop delay of the host in the last second, 99th percentile.',
    pick: (model) => loopLag(model.host.report),
  },
  {
    name: 'sluice_host_load_seconds',
    kind: 'observedGauge',
    help: 'Duration of the last load of the model, including its first run.',
    pick: (model) => (model.host.report?.loadMs ?? 0) / 1_000,
  },
];

function loopLag(report: HostReport | null): number {
  return (report?.loopLagMs ?? 0) / 1_000;
}
