// The dashboards. Queue, row and reservation metrics are the same in every replica: aggregate them with `max by`, never `sum`.
import { dashboard, figure, graph, heading, quantile, zeroIsGood } from './panels.mjs';

const requests = 'sluice_http_request_duration_seconds_count';
const queueByState = 'max by (modality, model, state) (sluice_queue_jobs{model=~"$model"})';

const overview = dashboard({
  uid: 'sluice-overview',
  title: 'Sluice / Overview',
  about: 'Health of the service and waiting requests.',
  panels: [
    figure('API replicas ready', 'short', 'ready | sum(sluice_ready{app="api"})', {
      steps: [
        ['red', null],
        ['green', 1],
      ],
    }),
    figure('Models ready', 'short', 'models | count(max by (model) (sluice_model_workers{state="ready"}) > 0)'),
    figure('Requests', 'reqps', `requests | sum(rate(${requests}[5m]))`),
    figure(
      'Server errors',
      'percentunit',
      `5xx | (sum(rate(${requests}{status=~"5.."}[5m])) or vector(0)) / sum(rate(${requests}[5m]))`,
      {
        steps: [
          ['green', null],
          ['orange', 0.01],
          ['red', 0.05],
        ],
      },
    ),
    figure('Jobs open', 'short', 'open | sum(max by (modality, model, state) (sluice_jobs_open)) or vector(0)'),
    figure('Ledger violations', 'short', 'violations | sum(max by (check) (abs(sluice_ledger_broken_invariants)))', {
      steps: zeroIsGood,
    }),
    heading('HTTP'),
    graph('Requests by status', 'reqps', [`{{status}} | sum by (status) (rate(${requests}[5m]))`], { stacked: true }),
    graph('Request duration', 's', [
      `median | ${quantile(0.5, 'sluice_http_request_duration_seconds')}`,
      `95 % | ${quantile(0.95, 'sluice_http_request_duration_seconds')}`,
      `99 % | ${quantile(0.99, 'sluice_http_request_duration_seconds')}`,
    ]),
    graph('Requests in flight', 'short', ['{{instance}} | sluice_http_requests_in_flight']),
    graph('Errors by code', 'reqps', ['{{code}} | sum by (code) (rate(sluice_http_errors_total[5m]))'], {
      stacked: true,
    }),
    graph(
      'Admission decisions',
      'reqps',
      ['{{reason}} | sum by (reason) (rate(sluice_admission_decisions_total[5m]))'],
      {
        about: 'Valid requests within their rate limits: admitted, or refused for balance, capacity or stores.',
      },
    ),
    graph('Rate-limited requests', 'reqps', [
      '{{reason}} | sum by (reason) (rate(sluice_requests_rate_limited_total[5m]))',
    ]),
    heading('Stores and bus'),
    graph('Stores up', 'short', ['{{app}} {{dependency}} | min by (app, dependency) (sluice_dependency_up)']),
    graph('Bus lag', 's', ['{{app}} | max by (app) (sluice_bus_lag_seconds)']),
    graph('Jobs closed', 'reqps', ['{{state}} {{code}} | sum by (state, code) (rate(sluice_jobs_closed_total[5m]))']),
  ],
});

const genAi = 'gen_ai_request_model';
const ofModel = 'gen_ai_request_model=~"$model"';

const models = dashboard({
  uid: 'sluice-models',
  title: 'Sluice / Models',
  about: 'Latency of models, batch occupancy and model hosts.',
  models: true,
  panels: [
    graph(
      'Time to the first token, 95 %',
      's',
      [
        `{{model}} | ${quantile(0.95, 'sluice_http_time_to_first_token_seconds', 'model', 'model=~"$model"')}`,
        `{{${genAi}}} on the worker | ${quantile(0.95, 'gen_ai_server_time_to_first_token_seconds', genAi, ofModel)}`,
      ],
      { about: 'As clients see it, with the wait in the queue, and from the start on a worker.' },
    ),
    graph('Time per output token, median', 's', [
      `{{${genAi}}} | ${quantile(0.5, 'gen_ai_server_time_per_output_token_seconds', genAi, ofModel)}`,
    ]),
    graph('Inter-token latency, 99 %', 's', [
      `{{${genAi}}} | ${quantile(0.99, 'sluice_engine_inter_token_seconds', genAi, ofModel)}`,
    ]),
    graph('Request duration on the worker, 95 %', 's', [
      `{{${genAi}}} | ${quantile(0.95, 'gen_ai_server_request_duration_seconds', genAi, ofModel)}`,
    ]),
    graph('Requests by result', 'reqps', [
      `{{${genAi}}} {{error_type}} | sum by (${genAi}, error_type) (rate(gen_ai_server_request_duration_seconds_count{${ofModel}}[5m]))`,
    ]),
    graph('Tokens', 'short', [
      `{{${genAi}}} {{gen_ai_token_type}} | sum by (${genAi}, gen_ai_token_type) (rate(gen_ai_client_token_usage_sum{${ofModel}}[5m]))`,
    ]),
    heading('Engine'),
    graph('Batch occupancy', 'percentunit', [
      '{{model}} | sum by (model) (sluice_engine_running_sequences{model=~"$model"}) / sum by (model) (sluice_engine_slots{model=~"$model"})',
    ]),
    graph('Requests in model hosts', 'short', [
      '{{model}} running | sum by (model) (sluice_engine_running_requests{model=~"$model"})',
      '{{model}} waiting for a slot | sum by (model) (sluice_engine_waiting_sequences{model=~"$model"})',
    ]),
    graph('Step time, median and 99 %', 's', [
      `{{model}} median | ${quantile(0.5, 'sluice_engine_step_duration_seconds', 'model', 'model=~"$model"')}`,
      `{{model}} 99 % | ${quantile(0.99, 'sluice_engine_step_duration_seconds', 'model', 'model=~"$model"')}`,
    ]),
    graph('Key-value cache in use', 'percentunit', [
      '{{model}} | sum by (model) (sluice_engine_cache_tokens{model=~"$model"}) / sum by (model) (sluice_engine_cache_capacity_tokens{model=~"$model"})',
    ]),
    graph('Prefix cache hit rate', 'percentunit', [
      '{{model}} | sum by (model) (rate(sluice_engine_cached_tokens_total{model=~"$model"}[5m])) / sum by (model) (rate(sluice_engine_prompt_tokens_total{model=~"$model"}[5m]))',
    ]),
    graph('Tokens computed', 'short', [
      '{{model}} prompt | sum by (model) (rate(sluice_engine_prompt_tokens_total{model=~"$model"}[5m]))',
      '{{model}} generated | sum by (model) (rate(sluice_engine_generated_tokens_total{model=~"$model"}[5m]))',
    ]),
    graph('Share of time in the session', 'percentunit', [
      '{{model}} {{instance}} | rate(sluice_engine_run_seconds_total{model=~"$model"}[5m])',
    ]),
    graph('Steps', 'short', ['{{model}} | sum by (model) (rate(sluice_engine_steps_total{model=~"$model"}[5m]))']),
    heading('Model hosts'),
    graph('Workers by model and state', 'short', [
      '{{model}} {{state}} | max by (model, state) (sluice_model_workers{model=~"$model"}) > 0',
    ]),
    graph('Model hosts ready', 'short', ['{{model}} {{instance}} | sluice_host_ready{model=~"$model"}']),
    graph('Models on another provider than the first', 'short', [
      '{{model}} {{instance}} on {{provider}} | sluice_host_provider_fallback{model=~"$model"}',
    ]),
    graph('Model host restarts', 'short', [
      '{{model}} {{instance}} | increase(sluice_host_restarts_total{model=~"$model"}[15m])',
    ]),
    graph('Memory of model hosts', 'bytes', [
      '{{model}} {{provider}} {{instance}} | sluice_engine_resident_bytes{model=~"$model"}',
    ]),
    graph('Model load time', 's', ['{{model}} {{instance}} | sluice_host_load_seconds{model=~"$model"}']),
    graph('Event loop lag of model hosts', 's', [
      '{{model}} {{instance}} | sluice_host_loop_lag_seconds{model=~"$model"}',
    ]),
  ],
});

const money = dashboard({
  uid: 'sluice-money',
  title: 'Sluice / Money',
  about: 'Amounts reserved, charged and released, and the state of the ledger.',
  panels: [
    figure('Ledger violations', 'short', 'violations | sum(max by (check) (abs(sluice_ledger_broken_invariants)))', {
      width: 6,
      steps: zeroIsGood,
    }),
    figure('Since the last verification', 's', 'age | time() - max(sluice_ledger_last_verified_timestamp_seconds)', {
      width: 6,
      steps: [
        ['green', null],
        ['orange', 3_600],
        ['red', 10_800],
      ],
    }),
    figure('Open reservations', 'short', 'reservations | max(sluice_ledger_open_reservations)', { width: 6 }),
    figure('Reserved', 'currencyUSD', 'USD | max(sluice_ledger_open_reservations_usd)', { width: 6 }),
    graph(
      'Amounts per hour',
      'currencyUSD',
      [
        'reserved | sum(rate(sluice_ledger_reserved_usd_total[5m])) * 3600',
        'settled | sum(rate(sluice_ledger_settled_usd_total[5m])) * 3600',
        'released | sum(rate(sluice_ledger_released_usd_total[5m])) * 3600',
      ],
      { width: 12 },
    ),
    graph(
      'Charged per hour, by model',
      'currencyUSD',
      ['{{model}} | sum by (model) (rate(sluice_ledger_settled_usd_total[5m])) * 3600'],
      { width: 12, stacked: true },
    ),
    graph(
      'Reservations closed',
      'reqps',
      ['{{result}} | sum by (result) (rate(sluice_ledger_reservations_closed_total[5m]))'],
      {
        about: '`repeated` and `fenced` are duplicate or late job results: they change nothing.',
      },
    ),
    graph('Open reservations over time', 'short', ['reservations | max(sluice_ledger_open_reservations)']),
    graph(
      'Charged share of reserved amounts',
      'percentunit',
      ['share | sum(rate(sluice_ledger_settled_usd_total[30m])) / sum(rate(sluice_ledger_reserved_usd_total[30m]))'],
      { about: 'Low values: callers request far more than they use, which ties up their balances.' },
    ),
    graph('Refused for balance or spend limit', 'reqps', [
      '{{reason}} | sum by (reason) (rate(sluice_admission_decisions_total{reason=~".*BALANCE.*|.*SPEND_LIMIT.*"}[5m]))',
    ]),
    graph('Ledger violations by check', 'short', ['{{check}} | max by (check) (abs(sluice_ledger_broken_invariants))']),
    graph('Verification duration', 's', ['{{instance}} | sluice_ledger_verification_duration_seconds']),
  ],
});

const queue = dashboard({
  uid: 'sluice-queue',
  title: 'Sluice / Queue',
  about: 'Waiting jobs, their age, and pickup by workers.',
  models: true,
  panels: [
    graph(
      'Waiting jobs',
      'short',
      [
        `{{modality}}.{{model}} | sum by (modality, model) (${queueByState.replace('{', '{state=~"waiting|delayed", ')})`,
      ],
      { width: 12 },
    ),
    graph(
      'Running jobs',
      'short',
      [`{{modality}}.{{model}} | sum by (modality, model) (${queueByState.replace('{', '{state="active", ')})`],
      { width: 12 },
    ),
    graph('Age of the oldest open row', 's', [
      '{{modality}}.{{model}} {{state}} | max by (modality, model, state) (sluice_jobs_oldest_age_seconds{model=~"$model"})',
    ]),
    graph(
      'Time from queue to worker, 95 %',
      's',
      [
        `{{modality}}.{{model}} | ${quantile(0.95, 'sluice_queue_pickup_seconds', 'modality, model', 'model=~"$model"')}`,
      ],
      { about: 'Measured with the clocks of two hosts.' },
    ),
    graph('Jobs picked up', 'reqps', [
      '{{modality}}.{{model}} | sum by (modality, model) (rate(sluice_queue_pickup_seconds_count{model=~"$model"}[5m]))',
    ]),
    graph(
      'Open rows',
      'short',
      ['{{modality}}.{{model}} {{state}} | max by (modality, model, state) (sluice_jobs_open{model=~"$model"})'],
      { about: 'Rows are authoritative. A sweep re-enqueues rows that the queue has lost.' },
    ),
    graph('Jobs closed', 'reqps', [
      '{{model}} {{state}} {{code}} | sum by (model, state, code) (rate(sluice_jobs_closed_total{model=~"$model"}[5m]))',
    ]),
    graph('Rows repaired by sweeps', 'short', ['{{sweep}} | sum by (sweep) (increase(sluice_sweep_rows_total[15m]))']),
    graph('Sweep failures', 'short', ['{{sweep}} | sum by (sweep) (increase(sluice_sweep_failures_total[15m]))']),
  ],
});

const node = dashboard({
  uid: 'sluice-node',
  title: 'Sluice / Processes',
  about: 'CPU, memory and event loops of the processes.',
  panels: [
    graph('CPU time', 'percentunit', ['{{app}} {{instance}} | rate(process_cpu_seconds_total{app!=""}[5m])']),
    graph('Resident memory', 'bytes', ['{{app}} {{instance}} | process_resident_memory_bytes{app!=""}']),
    graph('Heap', 'bytes', ['{{app}} {{instance}} | nodejs_heap_size_used_bytes{app!=""}']),
    graph('Event loop lag, 99 %', 's', ['{{app}} {{instance}} | nodejs_eventloop_lag_p99_seconds{app!=""}']),
    graph('Garbage collection', 'percentunit', [
      '{{app}} {{kind}} | sum by (app, kind) (rate(nodejs_gc_duration_seconds_sum{app!=""}[5m]))',
    ]),
    graph('Open files', 'short', ['{{app}} {{instance}} | process_open_fds{app!=""}']),
    graph('Ready', 'short', ['{{app}} {{instance}} | sluice_ready']),
    graph('Bus lag', 's', ['{{app}} {{instance}} | sluice_bus_lag_seconds']),
    graph('Metrics missing from scrapes', 'short', [
      '{{metric}} | sum by (metric) (increase(sluice_metrics_read_failures_total[15m]))',
    ]),
  ],
});

/** Keyed by file name. */
export const dashboards = { overview, models, money, queue, node };
