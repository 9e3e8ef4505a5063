import { describe, expect, it } from 'vitest';
import type { ChatEvent } from '../../contract/chat.events.js';
import { plainChat } from '#test/plain-chat';
import { effectiveParameters } from '../job/chat.parameters.js';
import { type ChatCompletionHead, ChatCompletionCollector, ChatChunkPresenter } from './chat.presenter.js';
import { FinishedTextCheck } from './finished-text-check.js';

const head: ChatCompletionHead = {
  requestId: '0011223344556677-SLC',
  created: 1_795_000_000,
  modelId: 'tiny',
  n: 2,
  withLogprobs: false,
  pricing: { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } },
  heldDiemNano: 4_000n,
  parameters: effectiveParameters({}, undefined),
  warnings: [],
};

const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 3, reasoningTokens: 1 };

function text(index: number, value: string, channel: 'content' | 'reasoning' = 'content'): ChatEvent {
  return { type: 'text-delta', index, channel, text: value, tokens: 1, logprobs: null };
}

interface Chunk {
  id: string;
  created: number;
  object: string;
  usage?: unknown;
  choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null; logprobs: unknown }[];
}

function chunksOf(presenter: ChatChunkPresenter, ...events: ChatEvent[]): Chunk[] {
  return events.flatMap((event) => presenter.chunks(event)).map((json) => JSON.parse(json) as Chunk);
}

describe('ChatChunkPresenter', () => {
  it('starts every choice with its role and ends it with its finish reason', () => {
    const chunks = chunksOf(
      new ChatChunkPresenter(head, false),
      { type: 'prompt-ready', promptTokens: 5, cachedTokens: 2 },
      text(0, 'A'),
      text(1, 'B'),
      { type: 'choice-finished', index: 1, finishReason: 'length' },
      { type: 'choice-finished', index: 0, finishReason: 'stop' },
    );
    expect(chunks.map(({ choices: [choice] }) => [choice?.index, choice?.delta, choice?.finish_reason])).toEqual([
      [0, { role: 'assistant', content: '' }, null],
      [1, { role: 'assistant', content: '' }, null],
      [0, { content: 'A' }, null],
      [1, { content: 'B' }, null],
      [1, {}, 'length'],
      [0, {}, 'stop'],
    ]);
    expect(new Set(chunks.map(({ id, created, object }) => `${id} ${created} ${object}`))).toEqual(
      new Set(['chatcmpl-0011223344556677-SLC 1795000000 chat.completion.chunk']),
    );
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
  });

  it('names what was left out of schemas in the first chunk, and what a text breaks in the last one', () => {
    const format = {
      type: 'json-schema',
      schema: { pattern: '(a)\\1', minLength: 2 },
      param: 'response_format',
    } as const;
    const newTextCheck = () => new FinishedTextCheck(plainChat({ format }));
    const relaxed = [{ param: 'response_format', pointer: '/pattern', reason: 'has a back reference' }];
    const events: ChatEvent[] = [
      { type: 'prompt-ready', promptTokens: 5, cachedTokens: 2, relaxed },
      text(0, '"b"'),
      { type: 'choice-finished', index: 0, finishReason: 'stop' },
    ];
    const chunks = chunksOf(new ChatChunkPresenter({ ...head, n: 1, newTextCheck }, false), ...events);
    const warnings = chunks.map((chunk) => (chunk as { warnings?: { code: string }[] }).warnings ?? []);
    expect(warnings.map((list) => list.map(({ code }) => code))).toEqual([['schema_relaxed'], [], ['schema_violated']]);
    const collector = new ChatCompletionCollector({ ...head, n: 1, newTextCheck });
    for (const event of events) collector.add(event);
    expect(collector.completion(usage)).toMatchObject({
      warnings: [{ code: 'schema_relaxed' }, { code: 'schema_violated' }],
    });
  });

  describe('of a sealed response', () => {
    const sealed = { ...head, n: 1, isSealed: true };
    const field = `04${'ab'.repeat(100)}`;

    it('has no text but sealed fields, white space included', () => {
      const presenter = new ChatChunkPresenter(sealed, true);
      const chunks = chunksOf(
        presenter,
        { type: 'prompt-ready', promptTokens: 5, cachedTokens: 2 },
        text(0, field, 'reasoning'),
        text(0, ''),
        text(0, field),
        { type: 'choice-finished', index: 0, finishReason: 'stop' },
      );
      const last = presenter.finish(usage).map((json) => JSON.parse(json) as Chunk);
      expect(chunks.map(({ choices: [choice] }) => choice?.delta)).toEqual([
        { role: 'assistant' },
        { reasoning_content: field },
        { content: field },
        {},
      ]);
      expect(last).toMatchObject([{ choices: [], usage: { prompt_tokens: 5 } }]);
    });

    it('ends instead of sending anything else', () => {
      const events: ChatEvent[] = [
        text(0, 'plain'),
        text(0, ' \n'),
        text(0, `${field}\n`),
        text(0, 'plain', 'reasoning'),
        { type: 'tool-call', index: 0, call: 0, id: 'c', name: 'f' },
        { type: 'tool-call-delta', index: 0, call: 0, text: '{}', tokens: 1, logprobs: null },
      ];
      for (const event of events) {
        expect(() => new ChatChunkPresenter(sealed, false).present(event)).toThrow('The response was not encrypted.');
      }
    });
  });

  it('starts a choice whose text comes before the prompt is reported', () => {
    const [first] = chunksOf(new ChatChunkPresenter({ ...head, n: 1 }, false), text(0, 'A'));
    expect(first?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
  });

  it('sends usage null in all but the last chunk if usage was requested', () => {
    const presenter = new ChatChunkPresenter(head, true);
    expect(chunksOf(presenter, text(0, 'A')).map((chunk) => chunk.usage)).toEqual([null, null]);
    expect(JSON.parse(presenter.usage(usage))).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8, prompt_tokens_details: { cached_tokens: 2 } },
      cost: { usd: 0.000007, diem: 0.000004 },
    });
  });

  it('sends reasoning in fields of its own, under each name that clients read', () => {
    const chunks = chunksOf(new ChatChunkPresenter(head, false), text(0, 'hm', 'reasoning'));
    expect(chunks[1]?.choices[0]?.delta).toEqual({
      reasoning_content: 'hm',
      reasoning: 'hm',
      reasoning_details: [{ type: 'reasoning.text', text: 'hm', format: 'unknown', index: 0 }],
    });
  });

  it('escapes any model output', () => {
    const wild = 'line\nquote" \u2028 \\ 🙂';
    const chunks = chunksOf(new ChatChunkPresenter(head, false), text(0, wild));
    expect(chunks[1]?.choices[0]?.delta).toEqual({ content: wild });
  });

  it('sends log-probabilities in OpenAI’s format, also for a token whose text is not sent yet', () => {
    const presenter = new ChatChunkPresenter({ ...head, withLogprobs: true }, false);
    const logprobs = [
      { token: 'A', logprob: -0.5, bytes: [65], topLogprobs: [{ token: 'B', logprob: -1, bytes: [66] }] },
    ];
    const chunks = chunksOf(presenter, {
      type: 'text-delta',
      index: 0,
      channel: 'content',
      text: '',
      tokens: 1,
      logprobs,
    });
    expect(chunks[1]?.choices[0]?.logprobs).toEqual({
      refusal: null,
      content: [{ token: 'A', logprob: -0.5, bytes: [65], top_logprobs: [{ token: 'B', logprob: -1, bytes: [66] }] }],
    });
  });
});

const calls: ChatEvent[] = [
  { type: 'tool-call', index: 0, call: 0, id: 'call_a', name: 'now' },
  { type: 'tool-call-delta', index: 0, call: 0, text: '{"a"', tokens: 2, logprobs: null },
  { type: 'tool-call-delta', index: 0, call: 0, text: ': 1}', tokens: 2, logprobs: null },
  { type: 'tool-call', index: 0, call: 1, id: 'call_b', name: 'then' },
  { type: 'tool-call-delta', index: 0, call: 1, text: '{}', tokens: 1, logprobs: null },
  { type: 'choice-finished', index: 0, finishReason: 'tool_calls' },
];

describe('tool calls', () => {
  it('are begun with their id, type and name, and go on with their arguments alone', () => {
    const chunks = chunksOf(new ChatChunkPresenter({ ...head, n: 1 }, false), ...calls);
    const sent = chunks.slice(1).map(({ choices: [choice] }) => choice?.delta.tool_calls ?? choice?.finish_reason);
    const begun = (index: number, id: string, name: string) => [
      { index, id, type: 'function', function: { name, arguments: '' } },
    ];
    const more = (index: number, text: string) => [{ index, function: { arguments: text } }];
    expect(sent).toEqual([
      begun(0, 'call_a', 'now'),
      more(0, '{"a"'),
      more(0, ': 1}'),
      begun(1, 'call_b', 'then'),
      more(1, '{}'),
      'tool_calls',
    ]);
  });

  it('are whole in a whole response, whose content is null', () => {
    const collector = new ChatCompletionCollector({ ...head, n: 1 });
    for (const event of calls) collector.add(event);
    const [choice] = collector.completion(usage).choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', stop_reason: null, message: { content: null } });
    expect(choice?.message.tool_calls).toEqual([
      { id: 'call_a', type: 'function', function: { name: 'now', arguments: '{"a": 1}' } },
      { id: 'call_b', type: 'function', function: { name: 'then', arguments: '{}' } },
    ]);
  });
});

describe('calls of custom tools', () => {
  const withCustom = { ...head, n: 1, customTools: new Set(['now']) };
  const events: ChatEvent[] = [
    { type: 'tool-call', index: 0, call: 0, id: 'call_a', name: 'now' },
    ...['{"inp', 'ut": "+', 'a\\', 'n', '\\ud83d', '\\ude00"}'].map((fragment): ChatEvent => ({
      type: 'tool-call-delta',
      index: 0,
      call: 0,
      text: fragment,
      tokens: 1,
      logprobs: null,
    })),
    ...calls.slice(3),
  ];

  it('are streamed with their input as text', () => {
    const chunks = chunksOf(new ChatChunkPresenter(withCustom, false), ...events);
    const sent = chunks.slice(1).map(({ choices: [choice] }) => choice?.delta.tool_calls ?? choice?.finish_reason);
    const more = (input: string) => [{ index: 0, custom: { input } }];
    expect(sent).toEqual([
      [{ index: 0, id: 'call_a', type: 'custom', custom: { name: 'now', input: '' } }],
      more('+'),
      more('a'),
      more('\n'),
      more('\u{1f600}'),
      [{ index: 1, id: 'call_b', type: 'function', function: { name: 'then', arguments: '' } }],
      [{ index: 1, function: { arguments: '{}' } }],
      'tool_calls',
    ]);
  });

  it('have their input as text in a whole response', () => {
    const collector = new ChatCompletionCollector(withCustom);
    for (const event of events) collector.add(event);
    expect(collector.completion(usage).choices[0]?.message.tool_calls).toEqual([
      { id: 'call_a', type: 'custom', custom: { name: 'now', input: '+a\n\u{1f600}' } },
      { id: 'call_b', type: 'function', function: { name: 'then', arguments: '{}' } },
    ]);
  });
});

describe('ChatCompletionCollector', () => {
  it('joins the deltas of each choice', () => {
    const collector = new ChatCompletionCollector(head);
    const events: ChatEvent[] = [
      text(1, 'B'),
      text(0, 'why', 'reasoning'),
      text(0, 'A'),
      text(0, 'A'),
      { type: 'choice-finished', index: 0, finishReason: 'stop' },
      { type: 'choice-finished', index: 1, finishReason: 'length' },
    ];
    for (const event of events) collector.add(event);
    const completion = collector.completion(usage);
    expect(
      completion.choices.map(({ message, finish_reason: reason }) => [
        message.content,
        message.reasoning_content,
        reason,
      ]),
    ).toEqual([
      ['AA', 'why', 'stop'],
      ['B', null, 'length'],
    ]);
    expect(completion.choices.map(({ message }) => [message.reasoning, message.reasoning_details])).toEqual([
      ['why', [{ type: 'reasoning.text', text: 'why', format: 'unknown', index: 0 }]],
      [null, undefined],
    ]);
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model: 'tiny',
      prompt_logprobs: null,
      usage: { total_tokens: 8, completion_tokens_details: { reasoning_tokens: 1 } },
      cost: { usd: 0.000007, diem: 0.000004 },
      service_parameters: { include_service_system_prompt: true, enable_web_search: 'off' },
    });
  });
});
