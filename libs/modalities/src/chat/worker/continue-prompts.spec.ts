import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { RunEvent, RunOptions, RunResult, TextGenerationRequest } from '#inference/host';
import type { RunningJob } from '#queue';
import { plainChat } from '#test/plain-chat';
import type { ChatEvent, ChatJobPayload, ChatJobPrompt } from '../contract/index.js';
import { ChatProcessor } from './chat.processor.js';

type Run = (request: TextGenerationRequest, options: RunOptions) => Promise<RunResult>;

const usage = { promptTokens: 4, cachedTokens: 1, completionTokens: 2, reasoningTokens: 0 };
const texts = (count: number): ChatJobPrompt[] =>
  Array.from({ length: count }, (_, index) => ({ text: `text ${index}`, param: `prompt[${index}]` }));

function delta(text: string, index = 0): RunEvent {
  return { type: 'text-delta', index, text, tokens: 1, logprobs: null };
}

const ready: RunEvent = {
  type: 'prompt-ready',
  promptTokens: 4,
  cachedTokens: 1,
  reasoning: { open: '<t>', close: '</t>' },
};
const finished: RunEvent = { type: 'choice-finished', index: 0, finishReason: 'length' };

async function process(
  run: Run,
  overrides: Partial<ChatJobPayload>,
  { isStream = true, signal = new AbortController().signal } = {},
) {
  const events: ChatEvent[] = [];
  const job: RunningJob<ChatJobPayload> = {
    envelope: {
      requestId: 'r1',
      modality: 'chat',
      modelId: 'm',
      attempt: 1,
      deadlineAtMs: 0,
      replyTo: 'api',
      stream: isStream,
      payload: plainChat({ messages: [], ...overrides }),
    },
    signal,
    replies: { send: (...sent) => void events.push(...(sent as ChatEvent[])) },
    progress: () => undefined,
  };
  const report = await new ChatProcessor({ run }, { read: () => Promise.resolve([]) }).process(job);
  return { report, events };
}

function script(...steps: RunEvent[]): Run {
  return async (_request, { onEvents }) => {
    onEvents([ready, ...steps, finished]);
    return { cancelled: false, usage };
  };
}

describe('continuing prompts', () => {
  it('submits each as it is and numbers its choices through', async () => {
    const requests: TextGenerationRequest[] = [];
    const run: Run = async (request, options) => {
      requests.push(request);
      return await script(delta('a', 1))(request, options);
    };
    const prompts = [...texts(2), { tokenIds: [1, 2], param: 'prompt[2]' }];
    const { report, events } = await process(run, {
      ...{ prompts, n: 2, maxTokens: 9, stop: ['.'], cacheScope: 'account' },
    });
    expect(requests.map(({ id, prompt }) => [id, prompt])).toEqual([
      ['r1.0', { text: 'text 0', param: 'prompt[0]' }],
      ['r1.1', { text: 'text 1', param: 'prompt[1]' }],
      ['r1.2', { tokenIds: [1, 2], reportsText: false, param: 'prompt[2]' }],
    ]);
    // Without the scope, one account could tell what another has sent.
    expect(requests[0]).toMatchObject({ n: 2, maxTokens: 9, stop: ['.'], cacheScope: 'account' });
    expect(events.filter(({ type }) => type === 'prompt-ready')).toHaveLength(1);
    expect(events.flatMap((event) => (event.type === 'text-delta' ? [event.index] : []))).toEqual([1, 3, 5]);
    expect(report.usage).toEqual({ promptTokens: 12, cachedTokens: 3, completionTokens: 6, reasoningTokens: 0 });
  });

  it('sends reasoning as text like any other', async () => {
    const { events } = await process(script(delta('<t>a</t>')), { prompts: texts(1) });
    expect(events).toEqual([
      { type: 'prompt-ready', promptTokens: 4, cachedTokens: 1 },
      { type: 'text-delta', index: 0, channel: 'content', text: '<t>a</t>', tokens: 1, logprobs: null },
      finished,
    ]);
  });

  it.each([
    ['a text', [{ text: 'Once', param: 'prompt' }], ready, 'Once'],
    ['token ids', [{ tokenIds: [1], param: 'prompt' }], { ...ready, promptText: 'One' }, 'One'],
  ])('echoes %s before every choice', async (_name, prompts, begun, text) => {
    const run: Run = async ({ prompt }, { onEvents }) => {
      expect('tokenIds' in prompt ? prompt.reportsText : true).toBe(true);
      onEvents([begun as RunEvent, delta(' more')]);
      return { cancelled: false, usage };
    };
    const { events } = await process(run, { prompts, echo: true, n: 2 });
    const sent = events.flatMap((event) =>
      event.type === 'text-delta' ? [[event.index, event.text, event.tokens]] : [],
    );
    expect(sent).toEqual([
      [0, text, 0],
      [1, text, 0],
      [0, ' more', 1],
    ]);
  });

  it('runs a few at a time', async () => {
    let [running, most] = [0, 0];
    const run: Run = async (request, options) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return await script()(request, options);
    };
    const { report } = await process(run, { prompts: texts(9) });
    expect([most, report.usage?.promptTokens]).toEqual([4, 36]);
  });

  it('sends a complete response once, though its host died', async () => {
    const run: Run = async (_request, { onEvents, onRestart }) => {
      onEvents([ready, delta('lost')]);
      onRestart?.();
      onEvents([ready, delta('a'), delta('b'), finished]);
      return { cancelled: false, usage };
    };
    const { events } = await process(run, { prompts: texts(1), echo: true }, { isStream: false });
    const text = events.map((event) => (event.type === 'text-delta' ? event.text : ''));
    expect(text.join('')).toBe('text 0ab');
    expect(events.map(({ type }) => type)).toEqual(['prompt-ready', 'text-delta', 'choice-finished']);
  });

  it('cancels the others when one fails, and rejects as it does', async () => {
    const cancelled: string[] = [];
    const error = new PlatformError('TOO_MANY_TOKENS', 'long', 'prompt[1]');
    const run: Run = async ({ id }, { signal }) => {
      if (id === 'r1.1') throw error;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      cancelled.push(id);
      return { cancelled: true, usage };
    };
    await expect(process(run, { prompts: texts(6) })).rejects.toBe(error);
    expect(cancelled).toEqual(['r1.0', 'r1.2', 'r1.3']);
  });

  it('resolves with what it generated when it is cancelled', async () => {
    const run: Run = async (_request, { signal }) => ({ cancelled: signal.aborted, usage });
    const { report } = await process(run, { prompts: texts(2) }, { signal: AbortSignal.abort() });
    expect(report).toMatchObject({ cancelled: true, usage: { promptTokens: 0, completionTokens: 0 } });
  });
});
