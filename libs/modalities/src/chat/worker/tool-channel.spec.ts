import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatEvent, TextDeltaEvent } from '../contract/index.js';
import { ToolChannel } from './tool-channel.js';

const tools = [{ name: 'now', parameters: {}, param: 'tools[0].function.parameters' }];
const use = { tools, isRequired: false };
const options = { use, hasFormat: false };
const response =
  'So:\n<tool_call>\n{"name": "now", "arguments": {"a": "}"}}\n</tool_call>\n<tool_call>{"name": "now", "arguments": {}}</tool_call>';

function delta(text: string): TextDeltaEvent {
  const logprobs = [{ token: text, logprob: -1, bytes: null, topLogprobs: [] }];
  return { type: 'text-delta', index: 2, channel: 'content', text, tokens: 1, logprobs };
}

function summaryOf(events: readonly ChatEvent[]) {
  const calls = events.filter((event) => event.type === 'tool-call');
  return {
    content: events.map((event) => (event.type === 'text-delta' ? event.text : '')).join(''),
    calls: calls.map(({ call, name }) => ({
      name,
      text: events.map((event) => (event.type === 'tool-call-delta' && event.call === call ? event.text : '')).join(''),
    })),
    tokens: events.reduce((sum, event) => sum + ('tokens' in event ? Number(event.tokens) : 0), 0),
    scored: events.flatMap((event) =>
      'logprobs' in event ? ((event.logprobs as { token: string }[] | null) ?? []) : [],
    ),
  };
}

describe('ToolChannel', () => {
  it('gives the same calls, and counts every token and score once, however the text is split', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(response.length), { maxLength: 40 }), (cuts) => {
        const places = [...new Set([0, ...cuts, response.length])].sort((left, right) => left - right);
        const channel = new ToolChannel(2, 'hermes', options);
        const pieces = places.slice(1).map((end, index) => response.slice(places[index], end));
        const events = [...pieces.flatMap((piece) => channel.push(delta(piece))), ...channel.finish([])];
        const { content, calls, tokens, scored } = summaryOf(events);
        expect(content).toBe('So:');
        expect(calls).toEqual([
          { name: 'now', text: '{"a": "}"}' },
          { name: 'now', text: '{}' },
        ]);
        expect(tokens).toBe(pieces.length);
        expect(scored.map(({ token }) => token)).toEqual(pieces);
        expect(events.every((event) => 'index' in event && event.index === 2)).toBe(true);
      }),
    );
  });

  it('begins every call with an id of its own before its arguments', () => {
    const channel = new ToolChannel(0, 'hermes', options);
    const events = [...channel.push(delta(response)), ...channel.finish([])];
    const begun = events.filter((event) => event.type === 'tool-call');
    expect(begun.map(({ call }) => call)).toEqual([0, 1]);
    expect(new Set(begun.map(({ id }) => id)).size).toBe(2);
    for (const { id } of begun) expect(id).toMatch(/^call_[0-9a-f]{24}$/);
    for (const { call } of begun) {
      const first = events.findIndex((event) => event.type === 'tool-call-delta' && event.call === call);
      expect(events.slice(0, first)).toContainEqual(expect.objectContaining({ type: 'tool-call', call }));
    }
    expect(channel.hasCalls).toBe(true);
  });

  it('counts the tokens of markup that was cut off, but gives no text of it', () => {
    const channel = new ToolChannel(0, 'hermes', { ...options, use: { ...use, isRequired: true } });
    const events = [...['\n ', '<too', 'l_'].flatMap((piece) => channel.push(delta(piece))), ...channel.finish([''])];
    const { content, tokens, scored } = summaryOf(events);
    expect([content, tokens, scored.map(({ token }) => token)]).toEqual(['', 3, ['\n ', '<too', 'l_']]);
  });

  it('leaves reasoning alone', () => {
    const channel = new ToolChannel(0, 'hermes', options);
    const thought: TextDeltaEvent = { ...delta('<tool_call>'), channel: 'reasoning' };
    expect(channel.push(thought)).toEqual([thought]);
    expect(channel.finish([])).toEqual([]);
    expect(channel.hasCalls).toBe(false);
  });
});
