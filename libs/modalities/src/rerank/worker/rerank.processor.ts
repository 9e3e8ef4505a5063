import { noTokens } from '#common';
import type { TaskRunner } from '#inference/host';
import { type RerankInput, type RerankOutput, type RerankPart, rerankTask } from '#inference/tasks';
import type { JobReport, RunningJob } from '#queue';
import type { RerankJobPayload, ScoresReadyEvent } from '../contract/index.js';

/** Has the model's host score the documents of one job, batched with those of other jobs, and sends the scores on. */
export class RerankProcessor {
  constructor(private readonly runner: TaskRunner) {}

  /** Rejects with the host's `PlatformError`. A cancelled job resolves, with the tokens that were computed. */
  async process({ envelope, signal, replies }: RunningJob<RerankJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { query, documents, maxTokensPerDocument, instruction } = envelope.payload;
    const input: RerankInput = {
      query,
      documents,
      maxTokensPerDocument: maxTokensPerDocument ?? null,
      ...(instruction !== undefined && { instruction }),
    };
    const request = { id: envelope.requestId, task: rerankTask, input };
    const { cancelled, output } = await this.runner.runTask(request, {
      signal,
      // A score that arrives twice is the same score.
      repeatable: true,
      onPart: (part) => replies.send(eventOf(part as RerankPart)),
    });
    const promptTokens = (output as RerankOutput | null)?.tokens ?? 0;
    return {
      usage: { ...noTokens, promptTokens },
      cancelled,
      executionMs: Math.round(performance.now() - startedAt),
    };
  }
}

function eventOf({ indexes, scores }: RerankPart): ScoresReadyEvent {
  return { type: 'scores-ready', indexes, scores: [...scores] };
}
