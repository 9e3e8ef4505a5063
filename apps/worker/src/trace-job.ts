import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import type { Tracing } from '#platform/tracing';
import type { JobReport, RunningJob } from '#queue';

interface JobTraceDependencies {
  tracing: Tracing;
  logger: Logger;
}

/** Runs a job in a span of the trace in its envelope and logs its start and end with the request id, and why a model failed. */
export async function traceJob(
  { tracing, logger }: JobTraceDependencies,
  job: RunningJob,
  run: () => Promise<JobReport>,
): Promise<JobReport> {
  const { requestId, modality, modelId: model, attempt } = job.envelope;
  const startedAt = performance.now();
  const logEnd = (end: object) => logger.debug({ requestId, modality, model, attempt, ...end }, 'job ended');
  const ms = () => Math.round(performance.now() - startedAt);
  logger.debug({ requestId, modality, model, attempt }, 'job begun');
  beginSpan(tracing, job);
  try {
    const report = await run();
    tracing.end(requestId, { attributes: usageOf(report) });
    logEnd({ cancelled: report.cancelled, ms: ms() });
    return report;
  } catch (error) {
    const { code, reason } = PlatformError.from(error, 'INFERENCE_FAILED');
    tracing.end(requestId, { error: code });
    logEnd({ code, ms: ms() });
    if (reason !== undefined) logger.warn({ requestId, modality, model, attempt, code, reason }, `${model} failed`);
    throw error;
  }
}

/** A job whose request is not traced has no span. */
function beginSpan(tracing: Tracing, { envelope }: RunningJob): void {
  const { requestId, modality, modelId, attempt, trace } = envelope;
  if (trace === undefined) return;
  tracing.begin(requestId, {
    name: `process ${modality}.${modelId}`,
    kind: 'consumer',
    parent: trace,
    attributes: {
      'messaging.system': 'bullmq',
      'messaging.operation.type': 'process',
      'messaging.destination.name': `${modality}.${modelId}`,
      'gen_ai.request.model': modelId,
      'sluice.request_id': requestId,
      'sluice.attempt': attempt,
    },
  });
}

function usageOf({ usage, cancelled }: JobReport): Record<string, number | boolean> {
  return {
    'sluice.cancelled': cancelled,
    ...(usage !== null && {
      'gen_ai.usage.input_tokens': usage.promptTokens,
      'gen_ai.usage.output_tokens': usage.completionTokens,
    }),
  };
}
