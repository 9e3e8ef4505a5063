import { describe, expect, it } from 'vitest';
import type { RunEvent, RunOptions, RunResult, TextGenerationRequest, TextGenerationRunner } from '#inference/host';
import type { ReplyEvent, RunningJob } from '#queue';
import { plainChat } from '#test/plain-chat';
import type { ChatJobPayload } from '../contract/index.js';
import { ChatProcessor } from './chat.processor.js';

const payload = plainChat({
  messages: [{ role: 'user', content: 'Hi', reasoningContent: 'before' }],
  sampling: { temperature: 0.5, seed: 3 },
  stop: ['END'],
  stopTokenIds: [7],
});

class ScriptedRunner implements TextGenerationRunner {
  request: TextGenerationRequest | null = null;

  constructor(
    private readonly steps: RunEvent[][],
    /** After `restartAfter` steps, the host dies once. */
    private readonly fate: { cancelled?: boolean; restartAfter?: number } = {},
  ) {}

  async run(request: TextGenerationRequest, { onEvents, onRestart }: RunOptions): Promise<RunResult> {
    this.request = request;
    const { cancelled = false, restartAfter = 0 } = this.fate;
    for (const events of this.steps.slice(0, restartAfter)) onEvents(events);
    if (restartAfter > 0) onRestart?.();
    for (const events of this.steps) onEvents(events);
    const tokens = this.steps.flat().map((event) => (event.type === 'text-delta' ? event.tokens : 0));
    const completionTokens = tokens.reduce((sum, count) => sum + count, 0);
    return {
      cancelled,
      usage: { promptTokens: 4, cachedTokens: 1, completionTokens, reasoningTokens: 0 },
    };
  }
}

function delta(text: string, index = 0): RunEvent {
  return { type: 'text-delta', index, text, tokens: 1, logprobs: null };
}

async function process(runner: TextGenerationRunner, overrides: Partial<ChatJobPayload> = {}, isStream = true) {
  const batches: ReplyEvent[][] = [];
  const job: RunningJob<ChatJobPayload> = {
    envelope: {
      requestId: 'r1',
      modality: 'chat',
      modelId: 'm',
      attempt: 1,
      deadlineAtMs: 0,
      replyTo: 'api',
      stream: isStream,
      payload: { ...payload, ...overrides },
    },
    signal: new AbortController().signal,
    replies: { send: (...events) => void batches.push(events) },
    progress: () => undefined,
  };
  const report = await new ChatProcessor(runner, { read: () => Promise.resolve([]) }).process(job);
  return { report, batches, events: batches.flat() };
}

const finished: RunEvent = { type: 'choice-finished', index: 0, finishReason: 'stop' };

describe('ChatProcessor', () => {
  it('submits to the host what the job says', async () => {
    const runner = new ScriptedRunner([]);
    await process(runner, { enableThinking: false, reasoningEffort: 'low', thinkingBudget: 30, maxTokens: 9 });
    expect(runner.request).toEqual({
      id: 'r1',
      prompt: {
        messages: [{ role: 'user', content: 'Hi', name: undefined, reasoning_content: 'before' }],
        enableThinking: false,
        reasoningEffort: 'low',
        thinkingBudget: 30,
      },
      n: 1,
      sampling: { temperature: 0.5, seed: 3 },
      maxTokens: 9,
      stop: ['END'],
      stopTokenIds: [7],
      topLogprobs: null,
    });
  });

  it.each([true, false])(
    'measures the time to the first token, also of a whole response (stream: %s)',
    async (isStream) => {
      const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0 };
      const { report } = await process(new ScriptedRunner([[ready], [delta('a')], [finished]]), {}, isStream);
      expect(report.firstTokenMs).toEqual(expect.any(Number));
      expect(report.firstTokenMs).toBeLessThanOrEqual(report.executionMs);
      const silent = await process(new ScriptedRunner([[ready], [finished]]), {}, isStream);
      expect(silent.report).not.toHaveProperty('firstTokenMs');
    },
  );

  it('asks for the format of the job, in which a tag of thinking is text', async () => {
    const runner = new ScriptedRunner([[delta('"<think>')], [delta('a"')], [finished]]);
    const schema = { type: 'string' };
    const { report, events } = await process(runner, { format: { type: 'json-schema', schema, param: 'p' } });
    expect(runner.request?.constraint).toEqual({ type: 'json-schema', schema, param: 'p', isStrict: false });
    const visible = events.filter((event) => 'text' in event && event.text !== '');
    expect(visible).toMatchObject([
      { channel: 'content', text: '"<think>' },
      { channel: 'content', text: 'a"' },
    ]);
    expect(report.usage).toMatchObject({ reasoningTokens: 0 });
    await process(runner, { format: { type: 'json-object', param: 'p' } });
    expect(runner.request?.constraint).toEqual({ type: 'json-object', param: 'p' });
    await process(runner, { format: { type: 'regex', pattern: 'a+', param: 'p' } });
    expect(runner.request?.constraint).toEqual({ type: 'regex', pattern: 'a+', param: 'p' });
    await process(runner, { format: { type: 'grammar', grammar: 'root ::= "a"', param: 'p' } });
    expect(runner.request?.constraint).toEqual({ type: 'grammar', grammar: 'root ::= "a"', param: 'p' });
  });

  it('says that the job was accepted where it is asked to, before all other events', async () => {
    const relaxed = [{ param: 'p', pointer: '/pattern', reason: 'has a back reference' }];
    const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, relaxed };
    const runner = new ScriptedRunner([[{ type: 'constraint-ready' }], [ready], [delta('"a"')], [finished]]);
    const { events } = await process(runner, { reportsAcceptance: true });
    expect(runner.request).toMatchObject({ reportsConstraint: true });
    expect(events.slice(0, 2)).toEqual([
      { type: 'job-accepted' },
      { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, relaxed },
    ]);
  });

  const tool = { name: 'now', parameters: { type: 'object' }, strict: false };

  it('asks for the tools of the job', async () => {
    const runner = new ScriptedRunner([]);
    const message = { role: 'assistant' as const, content: '', toolCalls: [{ id: 'a', name: 'now', arguments: '{}' }] };
    const result = { role: 'tool' as const, content: 'noon', toolCallId: 'a' };
    await process(runner, { messages: [message, result], tools: [tool], toolChoice: { name: 'now' } });
    const definition = { name: 'now', parameters: { type: 'object' }, param: 'tools[0].function.parameters' };
    expect(runner.request).toMatchObject({
      prompt: { messages: [message, result] },
      tools: { tools: [definition], allowed: ['now'], isRequired: true, isParallel: false },
    });
    await process(runner, { tools: [tool], allowedTools: ['now'] });
    expect(runner.request?.tools).toMatchObject({ allowed: ['now'], isRequired: false, isParallel: true });
    await process(runner, { tools: [tool], toolChoice: 'none' });
    expect(runner.request?.tools).toBeUndefined();
  });

  it('sends calls apart from content, whole or as a stream', async () => {
    const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, toolStyle: 'hermes' };
    const pieces = ['Wait.\n<tool', '_call>{"name": "now", "argu', 'ments": {"a": ', '1}}</tool_call>'];
    const script = [[ready], ...pieces.map((text) => [delta(text)]), [finished]];
    for (const isStream of [true, false]) {
      const { events } = await process(new ScriptedRunner(script), { tools: [tool] }, isStream);
      const sent = events.filter((event) => !('text' in event) || event.text !== '');
      expect(sent.map(({ type }) => type)).toEqual([
        'prompt-ready',
        'text-delta',
        'tool-call',
        ...Array.from({ length: isStream ? 2 : 1 }, () => 'tool-call-delta'),
        'choice-finished',
      ]);
      const texts = events.map((event) => (event.type === 'tool-call-delta' && 'text' in event ? event.text : ''));
      expect(texts.join('')).toBe('{"a": 1}');
      expect(events.at(-1)).toMatchObject({ finishReason: 'tool_calls' });
      const tokens = events.reduce((sum, event) => sum + ('tokens' in event ? Number(event.tokens) : 0), 0);
      expect(tokens).toBe(pieces.length);
    }
  });

  it('reports a call that the token limit cut as cut', async () => {
    const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, toolStyle: 'hermes' };
    const cut: RunEvent = { type: 'choice-finished', index: 0, finishReason: 'length' };
    const text = '<tool_call>{"name": "now", "arguments": {"a": "x';
    const { events } = await process(new ScriptedRunner([[ready], [delta(text)], [cut]]), { tools: [tool] });
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool-call-delta', text: '{"a": "x' }));
    expect(events.at(-1)).toMatchObject({ finishReason: 'length' });
  });

  it('sends JSON that calls a tool as a call, and other JSON and that of a response format as content', async () => {
    const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, toolStyle: 'hermes' };
    const call = ['{"name"', ': "now", "argum', 'ents": {"a": 1}', '}'];
    const other = ['{"name": "no', 'w", "age": 3}'];
    const format = { type: 'json-object', param: 'response_format' };
    for (const [pieces, payload, isCall] of [
      [call, {}, true],
      [['```json\n', ...call, '\n```'], {}, true],
      [call, { allowedTools: [] }, false],
      [call, { format }, false],
      [call, { toolChoice: 'none' }, false],
      [other, {}, false],
    ] as const) {
      const script = [[ready], ...pieces.map((text) => [delta(text)]), [finished]];
      for (const isStream of [true, false]) {
        const changes = { tools: [tool], ...payload } as Partial<ChatJobPayload>;
        const { events } = await process(new ScriptedRunner(script), changes, isStream);
        const textOf = (kind: string) =>
          events.map((event) => (event.type === kind && 'text' in event ? event.text : '')).join('');
        expect(textOf('text-delta')).toBe(isCall ? '' : pieces.join(''));
        expect(textOf('tool-call-delta')).toBe(isCall ? '{"a": 1}' : '');
        expect(events.at(-1)).toMatchObject({ finishReason: isCall ? 'tool_calls' : 'stop' });
      }
    }
  });

  it('sends no piece of a tag or call that the token limit cut, and counts its tokens', async () => {
    const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, toolStyle: 'hermes' };
    const cut: RunEvent = { type: 'choice-finished', index: 0, finishReason: 'length' };
    for (const [pieces, payload, content] of [
      [['\n', '<too', 'l_ca'], { tools: [tool], toolChoice: 'required' }, ''],
      [['So:\n', '<tool'], { tools: [tool] }, 'So:'],
      [['<thi', 'nk'], {}, ''],
    ] as const) {
      const script = [[ready], ...pieces.map((text) => [delta(text)]), [cut]];
      for (const isStream of [true, false]) {
        const { events } = await process(new ScriptedRunner(script), payload as Partial<ChatJobPayload>, isStream);
        expect(events.map((event) => ('text' in event ? event.text : '')).join('')).toBe(content);
        const tokens = events.reduce((sum, event) => sum + ('tokens' in event ? Number(event.tokens) : 0), 0);
        expect(tokens).toBe(pieces.length);
      }
    }
  });

  it('sends the beginning of a call that a stop string ended as content only if the model wrote it', async () => {
    const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, toolStyle: 'hermes' };
    const contentWith = async (stop: string[]) => {
      const script = [[ready], [delta('a <tool')], [finished]];
      const { events } = await process(new ScriptedRunner(script), { tools: [tool], stop });
      return events.map((event) => ('text' in event ? event.text : '')).join('');
    };
    expect(await contentWith(['_call'])).toBe('a');
    expect(await contentWith(['box'])).toBe('a <tool');
    expect(await contentWith([])).toBe('a <tool');
  });

  it('sends the events of one step in one message', async () => {
    const runner = new ScriptedRunner([
      [{ type: 'prompt-ready', promptTokens: 4, cachedTokens: 1 }, delta('a'), delta('b', 1)],
      [delta('c'), finished],
    ]);
    const { batches } = await process(runner);
    expect(batches.map((batch) => batch.map(({ type }) => type))).toEqual([
      ['prompt-ready', 'text-delta', 'text-delta'],
      ['text-delta', 'choice-finished'],
    ]);
  });

  it('sends reasoning on its own channel and counts its tokens', async () => {
    const pieces = ['<think>', 'hm', '</think>', 'yes', '!'];
    const runner = new ScriptedRunner([...pieces.map((text) => [delta(text)]), [finished]]);
    const { report, events } = await process(runner);
    expect(report.usage).toMatchObject({ completionTokens: 5, reasoningTokens: 3 });
    const visible = events.filter((event) => 'text' in event && event.text !== '');
    expect(visible).toMatchObject([
      { channel: 'reasoning', text: 'hm' },
      { channel: 'content', text: 'yes' },
      { channel: 'content', text: '!' },
    ]);
    const tokens = events.map((event) => ('tokens' in event ? Number(event.tokens) : 0));
    expect(tokens.reduce((sum, count) => sum + count, 0)).toBe(5);
  });

  it('drops reasoning when the caller wants none, and still counts it', async () => {
    const runner = new ScriptedRunner([['<think>', 'hm', '</think>', 'yes'].map((text) => delta(text)), [finished]]);
    const { report, events } = await process(runner, { stripThinking: true });
    expect(report.usage).toMatchObject({ completionTokens: 4, reasoningTokens: 3 });
    const texts = events.map((event) => ('text' in event ? event.text : ''));
    expect(texts.join('')).toBe('yes');
    expect(events.some((event) => 'channel' in event && event.channel === 'reasoning')).toBe(false);
  });

  it('starts inside the reasoning when the template opened it', async () => {
    const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0, opensThinking: true };
    const runner = new ScriptedRunner([[ready, delta('hm</think>'), delta('ok')], [finished]]);
    const { events } = await process(runner);
    expect(events).toContainEqual(expect.objectContaining({ channel: 'reasoning', text: 'hm' }));
    expect(events).toContainEqual(expect.objectContaining({ channel: 'content', text: 'ok' }));
    expect(events[0]).toEqual({ type: 'prompt-ready', promptTokens: 4, cachedTokens: 0 });
  });

  it('flushes text that only looked like a tag before the choice finishes', async () => {
    const runner = new ScriptedRunner([[delta('<')], [delta('thi')], [finished]]);
    const { events } = await process(runner);
    expect(events.map((event) => ('text' in event ? event.text : event.type))).toEqual(['<thi', 'choice-finished']);
  });

  it('holds nothing back behind the beginning of the answer', async () => {
    const { events } = await process(new ScriptedRunner([[delta('1 <')], [delta('think>')], [finished]]));
    expect(events.map((event) => ('text' in event ? event.text : event.type))).toEqual([
      '1 <',
      'think>',
      'choice-finished',
    ]);
  });

  it('reads the delimiters that the engine names, in every choice', async () => {
    const ready: RunEvent = {
      type: 'prompt-ready',
      promptTokens: 4,
      cachedTokens: 0,
      reasoning: { open: '[THINK]', close: '[/THINK]' },
    };
    const steps = ['[THI', 'NK]a', '[/THINK', ']<think>'].map((text) => [delta(text), delta(text, 1)]);
    const { report, events } = await process(new ScriptedRunner([[ready], ...steps, [finished]]));
    const visible = events.filter((event) => 'text' in event && event.text !== '');
    expect(visible).toMatchObject([
      { index: 0, channel: 'reasoning', text: 'a' },
      { index: 1, channel: 'reasoning', text: 'a' },
      { index: 0, channel: 'content', text: '<think>' },
      { index: 1, channel: 'content', text: '<think>' },
    ]);
    expect(report.usage).toMatchObject({ reasoningTokens: 8 });
  });

  it('tells the reader of a non-streamed response that it starts over, and starts its reasoning over', async () => {
    const steps = ['<think>', 'hm', '</think>', 'yes'].map((text) => [delta(text)]);
    const runner = new ScriptedRunner(steps, { restartAfter: 2 });
    const { report, events } = await process(runner, {}, false);
    const second = events.slice(events.findIndex(({ type }) => type === 'job-started') + 1);
    expect(second.map((event) => ('text' in event ? event.text : '')).join('')).toBe('hmyes');
    expect(report.usage).toMatchObject({ reasoningTokens: 3 });
  });

  it('never restarts a stream', async () => {
    const runner = new ScriptedRunner([[delta('a')]], { restartAfter: 1 });
    const { events } = await process(runner, {}, true);
    expect(events.some(({ type }) => type === 'job-started')).toBe(false);
  });

  it('passes on what the host of a sealed request sealed, with its counts, and drops any text in clear', async () => {
    const sealing = { clientPublicKey: 'c', hostPublicKey: 'h' };
    const field = (channel: 'content' | 'reasoning', reasoningTokens: number): RunEvent => ({
      ...{ type: 'sealed-delta', index: 0, channel, field: `04-${channel}`, tokens: 2, reasoningTokens },
    });
    const runner = new ScriptedRunner([[delta('in clear')], [field('reasoning', 2), field('content', 0)], [finished]]);
    const { events, report } = await process(runner, { sealing, stripThinking: true });
    expect(runner.request?.sealing).toEqual({ ...sealing, stripThinking: true });
    expect(events).toEqual([
      { type: 'text-delta', index: 0, channel: 'reasoning', text: '04-reasoning', tokens: 2, logprobs: null },
      { type: 'text-delta', index: 0, channel: 'content', text: '04-content', tokens: 2, logprobs: null },
      finished,
    ]);
    // Counted by the host, in its result.
    expect(report.usage).toMatchObject({ reasoningTokens: 0 });
  });

  it('reports a cancelled job with what it generated', async () => {
    const { report } = await process(new ScriptedRunner([[delta('a')]], { cancelled: true }));
    expect(report).toMatchObject({ cancelled: true, usage: { completionTokens: 1, promptTokens: 4 } });
  });
});
