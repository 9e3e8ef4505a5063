import { describe, expect, it } from 'vitest';
import { type JobUsage, PlatformError } from '#common';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import { FinishedTextCheck } from '../chat/finished-text-check.js';
import { FieldNames } from '../job/field-names.js';
import type { MessageOptions, MessagesEvent } from './message-builder.js';
import { MessageCollector, MessagesFormat, MessagesStreamPresenter } from './messages.presenter.js';

const usage: JobUsage = {
  promptTokens: 20,
  cachedTokens: 5,
  cacheWriteTokens: 8,
  completionTokens: 7,
  reasoningTokens: 3,
};
const presentedUsage = {
  input_tokens: 7,
  cache_creation_input_tokens: 8,
  cache_read_input_tokens: 5,
  output_tokens: 7,
  output_tokens_details: { thinking_tokens: 3 },
};

const ready: ChatEvent = { type: 'prompt-ready', promptTokens: 20, cachedTokens: 5 };

function text(part: string, channel: 'content' | 'reasoning' = 'content'): ChatEvent {
  return { type: 'text-delta', index: 0, channel, text: part, tokens: 1, logprobs: null };
}

function called(id: string, parts: string[], call = 0): ChatEvent[] {
  const deltas = parts.map((part): ChatEvent => ({
    ...{ type: 'tool-call-delta', index: 0, call, text: part, tokens: 1, logprobs: null },
  }));
  return [{ type: 'tool-call', index: 0, call, id, name: 'get_weather' }, ...deltas];
}

function finished(finishReason: 'stop' | 'length' | 'tool_calls' = 'stop', stopString?: string): ChatEvent {
  return { type: 'choice-finished', index: 0, finishReason, ...(stopString !== undefined && { stopString }) };
}

type Warnings = Pick<FinishedTextCheck, 'add' | 'warnings'>;

const noCheck: Warnings = { add: () => undefined, warnings: [] };
const head = { requestId: 'r1', modelId: 'stories', warnings: [] as ChatWarning[] };
const options: MessageOptions = { omitsThinking: false, sign: (thinking) => `signed ${thinking}` };

function newPresenter(changes: Partial<MessageOptions> & { check?: Warnings; names?: FieldNames } = {}) {
  const { names = new FieldNames(), check = noCheck, ...others } = changes;
  return new MessagesStreamPresenter(head, names, { ...options, ...others, check: check as FinishedTextCheck });
}

function stream(events: ChatEvent[], changes: Parameters<typeof newPresenter>[0] = {}): MessagesEvent[] {
  const presenter = newPresenter(changes);
  const chunks = [...events.flatMap((event) => presenter.present(event)), ...presenter.finish(usage)];
  return chunks.map((json) => JSON.parse(json) as MessagesEvent);
}

function whole(events: ChatEvent[], changes: Partial<MessageOptions> = {}) {
  const collector = new MessageCollector(head, { ...options, ...changes }, noCheck as FinishedTextCheck);
  for (const event of events) collector.add(event);
  return collector.message(usage);
}

const opened = {
  type: 'message_start',
  message: {
    id: 'msg_r1',
    type: 'message',
    role: 'assistant',
    model: 'stories',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: 15,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 5,
      output_tokens: 0,
      output_tokens_details: { thinking_tokens: 0 },
    },
  },
};

function started(index: number, block: object) {
  return { type: 'content_block_start', index, content_block: block };
}

function delta(index: number, members: object) {
  return { type: 'content_block_delta', index, delta: members };
}

function stopped(index: number) {
  return { type: 'content_block_stop', index };
}

function ended(reason: string, sequence: string | null = null): MessagesEvent[] {
  const members = { stop_reason: reason, stop_sequence: sequence };
  return [{ type: 'message_delta', delta: members, usage: presentedUsage }, { type: 'message_stop' }];
}

const emptyText = { type: 'text', text: '', citations: null };

describe('a streamed message', () => {
  it('sends its text in one block, and the usage with the end', () => {
    expect(stream([ready, text('Once '), text(''), text('upon'), finished()])).toEqual([
      opened,
      started(0, emptyText),
      delta(0, { type: 'text_delta', text: 'Once ' }),
      delta(0, { type: 'text_delta', text: 'upon' }),
      stopped(0),
      ...ended('end_turn'),
    ]);
  });

  it('sends reasoning before the text, with its signature last', () => {
    expect(stream([ready, text('So', 'reasoning'), text('.', 'reasoning'), text('Yes'), finished()])).toEqual([
      opened,
      started(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'So' }),
      delta(0, { type: 'thinking_delta', thinking: '.' }),
      delta(0, { type: 'signature_delta', signature: 'signed So.' }),
      stopped(0),
      started(1, emptyText),
      delta(1, { type: 'text_delta', text: 'Yes' }),
      stopped(1),
      ...ended('end_turn'),
    ]);
  });

  it('leaves the text of reasoning out where it is omitted, and keeps it in the signature', () => {
    const events = stream([ready, text('So.', 'reasoning'), finished()], { omitsThinking: true });
    expect(events.slice(1, 4)).toEqual([
      started(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'signature_delta', signature: 'signed So.' }),
      stopped(0),
    ]);
  });

  it('sends each call in a block of its own, with the pieces of its arguments', () => {
    const events = [ready, text('Look.'), ...called('a', ['{"city"', ':"Rome"}']), ...called('b', ['{}'], 1)];
    const start = (id: string) => ({ type: 'tool_use', id, name: 'get_weather', input: {} });
    expect(stream([...events, finished('tool_calls')]).slice(3)).toEqual([
      stopped(0),
      started(1, start('a')),
      delta(1, { type: 'input_json_delta', partial_json: '{"city"' }),
      delta(1, { type: 'input_json_delta', partial_json: ':"Rome"}' }),
      stopped(1),
      started(2, start('b')),
      delta(2, { type: 'input_json_delta', partial_json: '{}' }),
      stopped(2),
      ...ended('tool_use'),
    ]);
  });

  it.each([
    [finished('length'), 'max_tokens', null],
    [finished('stop', 'END'), 'stop_sequence', 'END'],
    [finished('stop'), 'end_turn', null],
  ])('says why it ended: %j', (event, reason, sequence) => {
    expect(stream([ready, text('x'), event]).slice(-2)).toEqual(ended(reason, sequence));
  });

  it('has no block without any text', () => {
    expect(stream([ready, finished()])).toEqual([opened, ...ended('end_turn')]);
  });

  it('names what was left out in the first event, and what the text violates in the last', () => {
    const warning = (param: string): ChatWarning => ({ code: 'schema_violated', param, message: 'x' });
    const found = [warning('tools[0]')];
    const check: Warnings = {
      add: ({ type }) => void (type === 'choice-finished' && found.push(warning('tools[1]'))),
      get warnings() {
        return [...found];
      },
    };
    const events = stream([ready, text('x'), finished()], { check });
    expect(events[0]).toMatchObject({ message: { warnings: [warning('tools[0]')] } });
    expect(events.at(-2)).toMatchObject({ type: 'message_delta', warnings: [warning('tools[1]')] });
  });

  it('ends with an error event that names the field of the client', () => {
    const names = new FieldNames();
    names.set('messages[0]', 'system');
    const presenter = newPresenter({ names });
    presenter.present(ready);
    const failure = new PlatformError('MODEL_AT_CAPACITY', 'messages[0].content is too much.', 'messages[0].content');
    expect(presenter.fail(failure).map((json) => JSON.parse(json) as object)).toEqual([
      {
        type: 'error',
        error: { type: 'overloaded_error', message: 'system.content is too much.' },
        request_id: 'r1',
      },
    ]);
  });

  it('does not begin twice', () => {
    const presenter = newPresenter();
    expect(presenter.present(ready)).toHaveLength(1);
    expect(presenter.present(ready)).toEqual([]);
    presenter.present(text('Once'));
    expect(() => presenter.present(ready)).toThrow('interrupted');
  });

  it('names the event of every frame, and has neither comments nor an end of its own', () => {
    const format = new MessagesFormat('r1');
    expect(format.frame('{"type":"message_stop"}')).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
    expect([format.keepAlive, format.ending]).toEqual(['event: ping\ndata: {"type":"ping"}\n\n', '']);
  });
});

describe('a whole message', () => {
  it('has the blocks of the stream', () => {
    const events = [ready, text('So.', 'reasoning'), text('Look'), text('.'), ...called('a', ['{"city":"Rome"}'])];
    expect(whole([...events, finished('tool_calls')])).toEqual({
      ...opened.message,
      content: [
        { type: 'thinking', thinking: 'So.', signature: 'signed So.' },
        { type: 'text', text: 'Look.', citations: null },
        { type: 'tool_use', id: 'a', name: 'get_weather', input: { city: 'Rome' } },
      ],
      stop_reason: 'tool_use',
      usage: presentedUsage,
    });
  });

  it.each([
    [['{"city":"Ro'], { invalid_arguments: '{"city":"Ro' }],
    [['[1]'], { invalid_arguments: '[1]' }],
    [[], {}],
  ])('has an object as the input of the call %j', (parts, input) => {
    expect(whole([ready, ...called('a', parts), finished('length')])).toMatchObject({
      stop_reason: 'max_tokens',
      content: [{ type: 'tool_use', input }],
    });
  });

  it('omits the text of reasoning as the stream does', () => {
    const { content } = whole([ready, text('So.', 'reasoning'), finished()], { omitsThinking: true });
    expect(content).toEqual([{ type: 'thinking', thinking: '', signature: 'signed So.' }]);
  });
});
