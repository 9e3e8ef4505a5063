import { describe, expect, it } from 'vitest';
import type { TaskOptions, TaskRequest, TaskResult, TaskRunner } from '#inference/host';
import type { EmbeddingPart } from '#inference/tasks';
import type { ReplyEvent, RunningJob } from '#queue';
import type { EmbeddingJobPayload } from '../contract/index.js';
import { EmbeddingProcessor } from './embedding.processor.js';

class ScriptedRunner implements TaskRunner {
  request: TaskRequest | null = null;
  options: TaskOptions | null = null;

  constructor(
    private readonly parts: EmbeddingPart[],
    private readonly result: TaskResult,
  ) {}

  async runTask(request: TaskRequest, options: TaskOptions): Promise<TaskResult> {
    this.request = request;
    this.options = options;
    for (const part of this.parts) options.onPart?.(part);
    return this.result;
  }
}

async function process(runner: TaskRunner, payload: EmbeddingJobPayload = { texts: ['a', 'b'], dimensions: null }) {
  const events: ReplyEvent[] = [];
  const envelope = {
    requestId: 'r1',
    modality: 'embedding',
    modelId: 'm',
    attempt: 1,
    deadlineAtMs: 0,
    replyTo: 'api',
    payload,
  };
  const job: RunningJob<EmbeddingJobPayload> = {
    envelope,
    signal: new AbortController().signal,
    replies: { send: (...sent) => void events.push(...sent) },
    progress: () => undefined,
  };
  return { report: await new EmbeddingProcessor(runner).process(job), events };
}

describe('EmbeddingProcessor', () => {
  it('has the host embed the texts, and retries if the host dies', async () => {
    const runner = new ScriptedRunner([], { cancelled: false, output: { tokens: 9 } });
    const { report } = await process(runner, { texts: ['a'], dimensions: 8 });
    expect(runner.request).toEqual({ id: 'r1', task: 'embed', input: { texts: ['a'], dimensions: 8 } });
    expect(runner.options).toMatchObject({ repeatable: true });
    expect(report).toMatchObject({ cancelled: false, usage: { promptTokens: 9, completionTokens: 0 } });
  });

  it('sends vectors as they arrive, even when they are views into a larger buffer', async () => {
    const vectors = Float32Array.of(9, 1, 2, 3, 4).subarray(1);
    const runner = new ScriptedRunner([{ indexes: [1, 0], dimensions: 2, vectors }], {
      cancelled: false,
      output: { tokens: 4 },
    });
    const { events } = await process(runner);
    const data = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer).toString('base64');
    expect(events).toEqual([{ type: 'vectors-ready', indexes: [1, 0], dimensions: 2, data }]);
  });

  it('reports a cancelled job with the tokens that were computed, or none when no host served it', async () => {
    const some = await process(new ScriptedRunner([], { cancelled: true, output: { tokens: 5 } }));
    expect(some.report).toMatchObject({ cancelled: true, usage: { promptTokens: 5 } });
    const none = await process(new ScriptedRunner([], { cancelled: true, output: null }));
    expect(none.report).toMatchObject({ cancelled: true, usage: { promptTokens: 0 } });
  });
});
