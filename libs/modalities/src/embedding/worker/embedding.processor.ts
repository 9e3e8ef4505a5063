import { noTokens } from '#common';
import type { TaskRunner } from '#inference/host';
import { type EmbeddingInput, type EmbeddingOutput, type EmbeddingPart, embeddingTask } from '#inference/tasks';
import type { JobReport, RunningJob } from '#queue';
import type { EmbeddingJobPayload, VectorsReadyEvent } from '../contract/index.js';

/** Has the model's host embed the texts of one job, batched with those of other jobs, and sends the vectors on. */
export class EmbeddingProcessor {
  constructor(private readonly runner: TaskRunner) {}

  /** Rejects with the host's `PlatformError`. A cancelled job resolves, with the tokens that were computed. */
  async process({ envelope, signal, replies }: RunningJob<EmbeddingJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { texts, tokenIds, dimensions } = envelope.payload;
    const input: EmbeddingInput = { texts, ...(tokenIds && { tokenIds }), dimensions: dimensions ?? null };
    const request = { id: envelope.requestId, task: embeddingTask, input };
    const { cancelled, output } = await this.runner.runTask(request, {
      signal,
      // A vector that arrives twice is the same vector.
      repeatable: true,
      onPart: (part) => replies.send(eventOf(part as EmbeddingPart)),
    });
    const promptTokens = (output as EmbeddingOutput | null)?.tokens ?? 0;
    return {
      usage: { ...noTokens, promptTokens },
      cancelled,
      executionMs: Math.round(performance.now() - startedAt),
    };
  }
}

function eventOf({ indexes, dimensions, vectors }: EmbeddingPart): VectorsReadyEvent {
  const bytes = Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  return { type: 'vectors-ready', indexes, dimensions, data: bytes.toString('base64') };
}
