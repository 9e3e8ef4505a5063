import { describe, expect, it } from 'vitest';
import type { TaskOptions, TaskRequest, TaskResult, TaskRunner } from '#inference/host';
import type { RerankPart } from '#inference/tasks';
import type { ReplyEvent, RunningJob } from '#queue';
import type { RerankJobPayload } from '../contract/index.js';
import { RerankProcessor } from './rerank.processor.js';

class ScriptedRunner implements TaskRunner {
  request: TaskRequest | null = null;
  options: TaskOptions | null = null;

  constructor(
    private readonly parts: RerankPart[],
    private readonly result: TaskResult,
  ) {}

  async runTask(request: TaskRequest, options: TaskOptions): Promise<TaskResult> {
    this.request = request;
    this.options = options;
    for (const part of this.parts) options.onPart?.(part);
    return this.result;
  }
}

async function process(runner: TaskRunner, payload: RerankJobPayload) {
  const events: ReplyEvent[] = [];
  const job: RunningJob<RerankJobPayload> = {
    envelope: {
      requestId: 'r1',
      modality: 'rerank',
      modelId: 'm',
      attempt: 1,
      deadlineAtMs: 0,
      replyTo: 'api',
      payload,
    },
    signal: new AbortController().signal,
    replies: { send: (...sent) => void events.push(...sent) },
    progress: () => undefined,
  };
  return { report: await new RerankProcessor(runner).process(job), events };
}

const payload = { query: 'q', documents: ['a', 'b'], maxTokensPerDocument: null };

describe('RerankProcessor', () => {
  it('has the host score the documents, retries if the host dies, and sends the scores', async () => {
    const part = { indexes: [1, 0], scores: Float32Array.of(0.5, 0.25) };
    const runner = new ScriptedRunner([part], { cancelled: false, output: { tokens: 9 } });
    const { report, events } = await process(runner, payload);
    expect(runner.request).toEqual({ id: 'r1', task: 'rerank', input: payload });
    expect(runner.options).toMatchObject({ repeatable: true });
    expect(report).toMatchObject({ cancelled: false, usage: { promptTokens: 9, completionTokens: 0 } });
    expect(events).toEqual([{ type: 'scores-ready', indexes: [1, 0], scores: [0.5, 0.25] }]);
  });

  it('reports a cancelled job with the tokens that were computed, or none when no host served it', async () => {
    const some = await process(new ScriptedRunner([], { cancelled: true, output: { tokens: 5 } }), payload);
    expect(some.report).toMatchObject({ cancelled: true, usage: { promptTokens: 5 } });
    const none = await process(new ScriptedRunner([], { cancelled: true, output: null }), payload);
    expect(none.report).toMatchObject({ cancelled: true, usage: { promptTokens: 0 } });
  });
});
