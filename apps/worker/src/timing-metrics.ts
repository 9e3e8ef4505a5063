import type { HistogramReading } from '#common';
import type { ModalityName } from '#modalities';
import type { Metrics } from '#platform/metrics';
import type { JobTimings, ModelTimings } from './model-timings.js';

/** A model and its job timings. */
interface TimedModel {
  readonly id: string;
  readonly timings: ModelTimings;
}

/**
 * Job timing metrics, with names and labels from OpenTelemetry's semantic conventions for generative AI where these
 * exist.
 */
export function registerTimings(metrics: Metrics, models: () => readonly TimedModel[]): void {
  for (const { name, help, pick } of textTimings) {
    metrics.observedHistogram({
      name,
      help,
      labelNames: genAiLabels,
      read: (observe) => {
        for (const { id, timings, jobs } of timedJobs(models())) {
          if (jobs.modality === 'chat') observe(genAi(jobs.modality, id), pick(timings));
        }
      },
    });
  }
  metrics.observedHistogram({
    name: 'gen_ai_server_request_duration_seconds',
    help: 'Time from the start of a job on a worker to its last event. error_type is empty for success.',
    labelNames: [...genAiLabels, 'error_type'],
    read: (observe) => {
      for (const { id, jobs } of timedJobs(models())) {
        for (const [code, histogram] of jobs.requests)
          observe({ ...genAi(jobs.modality, id), error_type: code }, histogram);
      }
    },
  });
  metrics.observedHistogram({
    name: 'gen_ai_client_token_usage',
    help: 'Billed tokens per request.',
    labelNames: [...genAiLabels, 'gen_ai_token_type'],
    read: (observe) => {
      for (const { id, jobs } of timedJobs(models())) {
        observe({ ...genAi(jobs.modality, id), gen_ai_token_type: 'input' }, jobs.inputTokens);
        observe({ ...genAi(jobs.modality, id), gen_ai_token_type: 'output' }, jobs.outputTokens);
      }
    },
  });
  metrics.observedHistogram({
    name: 'sluice_queue_pickup_seconds',
    help: 'Time from enqueueing a job to its first start, by the clocks of both hosts.',
    labelNames: ['modality', 'model'],
    read: (observe) => {
      for (const { id, jobs } of timedJobs(models())) observe({ modality: jobs.modality, model: id }, jobs.pickup);
    },
  });
  metrics.observedCounter({
    name: 'sluice_affinity_jobs_total',
    help: 'Sticky jobs that this worker took or was told to claim, by what became of them.',
    labelNames: ['modality', 'model', 'end'],
    read: (observe) => {
      for (const { id, jobs } of timedJobs(models())) {
        for (const [end, count] of jobs.stickyJobs) observe({ modality: jobs.modality, model: id, end }, count);
      }
    },
  });
}

const genAiLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

const operations: Partial<Record<ModalityName, string>> = { embedding: 'embeddings' };

function genAi(modality: ModalityName, model: string): Record<(typeof genAiLabels)[number], string> {
  return {
    gen_ai_operation_name: operations[modality] ?? modality,
    gen_ai_provider_name: 'sluice',
    gen_ai_request_model: model,
  };
}

function timedJobs(models: readonly TimedModel[]): (TimedModel & { jobs: JobTimings })[] {
  return models.flatMap(({ id, timings }) => timings.list().map((jobs) => ({ id, timings, jobs })));
}

const textTimings: { name: string; help: string; pick: (timings: ModelTimings) => HistogramReading }[] = [
  {
    name: 'gen_ai_server_time_to_first_token_seconds',
    help: 'Time from the start of a text on a worker to its first token, including the wait for a slot.',
    pick: ({ firstToken }) => firstToken,
  },
  {
    name: 'gen_ai_server_time_per_output_token_seconds',
    help: 'Mean time per token after the first, once per text.',
    pick: ({ perOutputToken }) => perOutputToken,
  },
  {
    name: 'sluice_engine_inter_token_seconds',
    help: 'Time between two tokens of a text.',
    pick: ({ interToken }) => interToken,
  },
];
