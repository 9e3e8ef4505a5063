import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { ResponsesResponse } from '../../contract/responses/responses.response.js';
import type { WebCall } from '../job/web-source.js';
import { FieldNames } from '../job/field-names.js';
import type { OutputOptions } from './output-builder.js';
import { ResponsesCollector, ResponsesStreamPresenter } from './responses.presenter.js';
import type { ResponsesHead } from './responses.resource.js';
import { ToolNames } from './tool-names.js';

type Event = ChatEvent;

const head = { id: 'resp_r', object: 'response', created_at: 1_795_000_000, model: 'tiny' } as ResponsesHead;
const plain: OutputOptions = { requestId: 'r', withLogprobs: false, asSummary: false, sealReasoning: null };
const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 3, reasoningTokens: 1 };

const prompt: Event = { type: 'prompt-ready', promptTokens: 5, cachedTokens: 2 };
const end: Event = { type: 'choice-finished', index: 0, finishReason: 'stop' };
const cut: Event = { type: 'choice-finished', index: 0, finishReason: 'length' };

function text(value: string, channel: 'content' | 'reasoning' = 'content'): Event {
  return { type: 'text-delta', index: 0, channel, text: value, tokens: 1, logprobs: null };
}

function call(position: number, id: string, ...fragments: string[]): Event[] {
  return [
    { type: 'tool-call', index: 0, call: position, id, name: 'f' },
    ...fragments.map((fragment): Event => ({
      type: 'tool-call-delta',
      index: 0,
      call: position,
      text: fragment,
      tokens: 1,
      logprobs: null,
    })),
  ];
}

interface Sent {
  type: string;
  sequence_number: number;
  item_id?: string;
  output_index?: number;
  delta?: string;
  item?: { id: string; type: string; status: string };
  response?: ResponsesResponse;
}

function presenterOf(options: Partial<OutputOptions> = {}, names = new FieldNames()): ResponsesStreamPresenter {
  return new ResponsesStreamPresenter(head, names, { ...plain, ...options });
}

function stream(events: Event[], options: Partial<OutputOptions> = {}): Sent[] {
  const presenter = presenterOf(options);
  const chunks = [...events.flatMap((event) => presenter.present(event)), ...presenter.finish(usage)];
  return chunks.map((json) => JSON.parse(json) as Sent);
}

interface Found {
  calls?: WebCall[];
  sources?: { title: string; url: string }[];
}

function collect(events: Event[], options: Partial<OutputOptions> = {}, found: Found = {}): ResponsesResponse {
  const collector = new ResponsesCollector(head, { ...plain, ...options }, found);
  for (const event of events) collector.add(event);
  return collector.response(usage);
}

const typesOf = (events: Sent[]) => events.map(({ type }) => type.replace('response.', ''));

describe('a response whose service looked something up', () => {
  const sources = [
    { title: 'Tides', url: 'https://tides.example/' },
    { title: 'a.md', url: 'character:porter/a.md#0' },
  ];
  const calls = [
    { target: { query: 'tides' }, isFailed: false },
    { target: { url: 'https://slow.example/' }, isFailed: true },
  ];
  const search = { type: 'search', query: 'tides', queries: ['tides'] };

  /** The events of lookups as they are made, and those of the response behind them. */
  async function follow(events: Event[], options: Partial<OutputOptions> = {}) {
    const presenter = presenterOf(options);
    const sent: string[][] = [];
    const observer = presenter.webObserver((chunks) => Promise.resolve(void sent.push(chunks)));
    await observer.begun(calls.map(({ target }) => target));
    await observer.ended({ calls, sources: sources.slice(0, 1).map((page) => ({ ...page, content: '', date: null })) });
    presenter.begin(head, sources);
    sent.push([...events.flatMap((event) => presenter.present(event)), ...presenter.finish(usage)]);
    return sent.map((chunks) => chunks.map((json) => JSON.parse(json) as Sent));
  }

  it('shows each lookup when it begins and when it is over, with the events of OpenAI', async () => {
    const [begun = [], ended = [], rest = []] = await follow([prompt, text('So.'), end]);
    const searching = ['output_item.added', 'web_search_call.in_progress', 'web_search_call.searching'];
    expect(typesOf(begun)).toEqual(['created', 'in_progress', ...searching, ...searching]);
    expect(typesOf(ended)).toEqual(['web_search_call.completed', 'output_item.done', 'output_item.done']);
    expect(typesOf(rest)[0]).toBe('output_item.added');
    const events = [...begun, ...ended, ...rest];
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.slice(2, 12).map(({ output_index: index }) => index)).toEqual([0, 0, 0, 1, 1, 1, 0, 0, 1, 2]);
    expect(begun.map(({ item }) => item?.status)).toContain('in_progress');
    expect(ended.map(({ item }) => item?.status)).toEqual([undefined, 'completed', 'failed']);
    const output = events.at(-1)?.response?.output;
    expect(output).toMatchObject([
      { type: 'web_search_call', id: 'ws_r_0', status: 'completed', action: search },
      { type: 'web_search_call', id: 'ws_r_1', status: 'failed', action: { type: 'open_page' } },
      { type: 'message' },
    ]);
    expect(collect([prompt, text('So.'), end], {}, { calls, sources }).output).toEqual(output);
  });

  it('shows a lookup as failed where the response fails before it is over', async () => {
    const presenter = presenterOf();
    const sent: string[] = [];
    const observer = presenter.webObserver((chunks) => Promise.resolve(void sent.push(...chunks)));
    await observer.begun([{ query: 'tides' }]);
    sent.push(...presenter.fail(new PlatformError('SERVICE_UNAVAILABLE', 'Down.')));
    const events = sent.map((json) => JSON.parse(json) as Sent);
    expect(typesOf(events).slice(-2)).toEqual(['error', 'failed']);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)?.response?.output).toMatchObject([{ type: 'web_search_call', status: 'failed' }]);
  });

  it('has a message even without a text', () => {
    expect(collect([prompt, end], {}, { calls }).output.map(({ type }) => type)).toEqual([
      'web_search_call',
      'web_search_call',
      'message',
    ]);
  });

  it('lists the pages that were found if the client includes them', async () => {
    const [item] = collect([prompt, end], { withWebSources: true }, { calls, sources }).output;
    expect(item).toMatchObject({ action: { ...search, sources: [{ type: 'url', url: 'https://tides.example/' }] } });
    const sent = await follow([prompt, end], { withWebSources: true });
    expect(sent.flat().at(-1)?.response?.output[0]).toEqual(item);
  });

  it('annotates citations of pages and of passages', () => {
    const written = 'It is so.[REF]0[/REF] And so [1], not [2] or [REF]1[/REF].';
    const [item] = collect([prompt, text(written), end], {}, { sources }).output;
    const annotations = item?.type === 'message' ? (item.content[0]?.annotations ?? []) : [];
    expect(annotations.map(({ url }) => url)).toEqual(['https://tides.example/', 'character:porter/a.md#0']);
    expect(annotations.map(({ start_index: from, end_index: to }) => written.slice(from, to))).toEqual([
      '[REF]0[/REF]',
      '[1]',
    ]);
  });
});

describe('a streamed response', () => {
  it('sends the events of a message in order, numbered from 0', () => {
    const events = stream([prompt, text('A'), text(' boat'), end]);
    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events[6]).toMatchObject({ item_id: 'msg_r_0', output_index: 0, content_index: 0, text: 'A boat' });
    expect(events.at(-1)?.response).toMatchObject({
      status: 'completed',
      usage: {
        input_tokens: 5,
        input_tokens_details: { cached_tokens: 2 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 8,
      },
    });
    expect(events[0]?.response).toMatchObject({ status: 'in_progress', output: [], usage: null });
  });

  it('sends reasoning as an item of its own before the message', () => {
    const events = stream([prompt, text('hm', 'reasoning'), text('A'), end]);
    expect(typesOf(events).slice(2, 9)).toEqual([
      'output_item.added',
      'content_part.added',
      'reasoning_text.delta',
      'reasoning_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
    ]);
    expect(events[7]?.item).toEqual({
      type: 'reasoning',
      id: 'rs_r_0',
      status: 'completed',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'hm' }],
    });
    expect(events[8]).toMatchObject({ output_index: 1, item: { id: 'msg_r_1', status: 'in_progress' } });
  });

  it('sends reasoning as a summary, and encrypted, if asked to', () => {
    const options = { asSummary: true, sealReasoning: (secret: string) => `sealed ${secret}` };
    const events = stream([prompt, text('hm', 'reasoning'), text('A'), end], options);
    expect(typesOf(events).slice(2, 8)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ]);
    expect(events[7]?.item).toMatchObject({
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'sealed hm',
    });
    expect(events[7]?.item).not.toHaveProperty('content');
  });

  it('sends function calls one after the other', () => {
    const events = stream([
      prompt,
      text('On it.'),
      ...call(0, 'call_a', '{"a"', ':1}'),
      ...call(1, 'call_b', '{}'),
      end,
    ]);
    expect(typesOf(events).slice(7)).toEqual([
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.find(({ type }) => type.endsWith('arguments.done'))).toMatchObject({
      item_id: 'fc_r_1',
      output_index: 1,
      name: 'f',
      arguments: '{"a":1}',
    });
    expect(events.at(-1)?.response?.output.map((item) => item.type)).toEqual([
      'message',
      'function_call',
      'function_call',
    ]);
  });

  it('sends the calls of custom tools as free text, and names namespaces', () => {
    const tools = new ToolNames();
    const patch = tools.add({ name: 'patch', isCustom: true });
    const list = tools.add({ name: 'list', namespace: 'calendar', isCustom: false });
    const callOf = (position: number, name: string, ...fragments: string[]) =>
      call(position, `call_${name}`, ...fragments).map((event) => ('name' in event ? { ...event, name } : event));
    const calls = [
      prompt,
      ...callOf(0, patch, '{"inp', 'ut": "+a', String.raw`\n`, String.raw`\u00`, 'e9"', '}'),
      ...callOf(1, list, '{}'),
      end,
    ];
    const events = stream(calls, { tools });
    expect(typesOf(events).slice(2)).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.flatMap(({ delta }) => delta ?? []).join('')).toBe('+a\né{}');
    const output = events.at(-1)?.response?.output;
    const status = 'completed';
    expect(output).toEqual([
      { type: 'custom_tool_call', id: 'ctc_r_0', call_id: 'call_patch', name: 'patch', input: '+a\né', status },
      {
        ...{ type: 'function_call', id: 'fc_r_1', call_id: 'call_calendar__list', name: 'list', namespace: 'calendar' },
        ...{ arguments: '{}', status },
      },
    ]);
    expect(collect(calls, { tools }).output).toEqual(output);
  });

  it('is incomplete at the token limit', () => {
    const events = stream([prompt, text('A'), cut]);
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, completed_at: null },
    });
    expect(events.at(-2)?.item?.status).toBe('incomplete');
  });

  it('has log-probabilities if they are included', () => {
    const score = { token: 'A', logprob: -0.5, bytes: [65], topLogprobs: [] };
    const scored = { ...text('A'), logprobs: [score] } as Event;
    const expected = [{ token: 'A', logprob: -0.5, bytes: [65], top_logprobs: [] }];
    const [delta] = stream([prompt, scored, end], { withLogprobs: true }).filter(({ delta: part }) => part === 'A');
    expect(delta).toMatchObject({ logprobs: expected });
    const [without] = stream([prompt, scored, end]).filter(({ delta: part }) => part === 'A');
    expect(without).toMatchObject({ logprobs: [] });
  });

  it('names each event in its frame', () => {
    const presenter = presenterOf();
    const frames = presenter.present(prompt).map((json) => presenter.frame(json));
    expect(frames[0]).toMatch(/^event: response\.created\ndata: \{"type":"response\.created",.*\}\n\n$/);
  });

  it('ends in an error and the failed response, with the field that the client sent', () => {
    const names = new FieldNames();
    names.set('response_format', 'text.format');
    const presenter = presenterOf({}, names);
    for (const event of [prompt, text('A')]) presenter.present(event);
    const sent = presenter
      .fail(new PlatformError('INVALID_REQUEST', 'response_format.json_schema is odd.', 'response_format.json_schema'))
      .map((json) => JSON.parse(json) as Sent);
    expect(sent[0]).toMatchObject({
      type: 'error',
      sequence_number: 5,
      code: 'INVALID_REQUEST',
      param: 'text.format.json_schema',
      message: 'text.format.json_schema is odd.',
    });
    expect(sent[1]).toMatchObject({
      type: 'response.failed',
      sequence_number: 6,
      response: {
        status: 'failed',
        error: { code: 'INVALID_REQUEST' },
        output: [{ status: 'incomplete', content: [{ text: 'A' }] }],
        usage: null,
      },
    });
  });

  it('refuses to begin again', () => {
    const presenter = presenterOf();
    for (const event of [prompt, text('A')]) presenter.present(event);
    expect(() => presenter.present(prompt)).toThrow('interrupted');
  });
});

describe('a collected response', () => {
  const everything = [prompt, text('hm', 'reasoning'), text('A'), ...call(0, 'call_a', '{"a":', '1}'), end];

  it.each([
    ['everything', everything],
    ['a cut text', [prompt, text('A'), cut]],
    ['no text', [prompt, end]],
    ['reasoning alone', [prompt, text('hm', 'reasoning'), cut]],
  ])('equals the last event of the stream: %s', (_name, events) => {
    const last = stream(events).at(-1)?.response;
    expect({ ...collect(events), completed_at: null }).toEqual({ ...last, completed_at: null });
  });

  it('has the items that the stream sent as done', () => {
    const done = stream(everything).filter(({ type }) => type === 'response.output_item.done');
    expect(collect(everything).output).toEqual(done.map(({ item }) => item));
  });

  it('has an empty message if there is no text', () => {
    expect(collect([prompt, end]).output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
  });
});
