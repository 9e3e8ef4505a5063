import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatEvent, TextDeltaEvent } from '../contract/index.js';
import { MergedEvents } from './merged-events.js';

const logprob = fc.record({ token: fc.string(), logprob: fc.float({ noNaN: true }), bytes: fc.constant(null) });
const delta = fc.record({
  type: fc.constant('text-delta' as const),
  index: fc.integer({ min: 0, max: 2 }),
  channel: fc.constantFrom('content' as const, 'reasoning' as const),
  text: fc.string(),
  tokens: fc.integer({ min: 0, max: 3 }),
  logprobs: fc.option(
    fc.array(
      logprob.map((given) => ({ ...given, topLogprobs: [] })),
      { maxLength: 2 },
    ),
  ),
});
const other = fc.constantFrom<ChatEvent>(
  { type: 'prompt-ready', promptTokens: 1, cachedTokens: 0 },
  { type: 'choice-finished', index: 1, finishReason: 'stop' },
);

/** Collects deltas as a client does: per choice and channel, the text, the tokens and their scores. */
function answerOf(events: readonly ChatEvent[]): Record<string, object> {
  const parts: Record<string, TextDeltaEvent[]> = {};
  for (const event of events) {
    if (event.type === 'text-delta') (parts[`${event.index} ${event.channel}`] ??= []).push(event);
  }
  return Object.fromEntries(
    Object.entries(parts).map(([name, deltas]) => [
      name,
      {
        text: deltas.map(({ text }) => text).join(''),
        tokens: deltas.reduce((sum, { tokens }) => sum + tokens, 0),
        logprobs: deltas.flatMap(({ logprobs }) => logprobs ?? []),
      },
    ]),
  );
}

describe('merged events', () => {
  it('carry everything that the events said, in one delta per choice and channel', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.oneof(delta, other), { maxLength: 6 }), { maxLength: 10 }), (steps) => {
        const original = JSON.stringify(steps);
        const merged = new MergedEvents();
        const sent = [...steps.flatMap((events) => merged.add(events)), ...merged.take()];
        expect(answerOf(sent)).toEqual(answerOf(steps.flat()));
        const deltas = sent.filter(({ type }) => type === 'text-delta');
        expect(deltas.length).toBe(Object.keys(answerOf(sent)).length);
        const rest = (events: readonly ChatEvent[]) => events.filter(({ type }) => type !== 'text-delta');
        expect(rest(sent)).toEqual(rest(steps.flat()));
        expect(JSON.stringify(steps)).toBe(original);
      }),
    );
  });

  it('are sent before they become too many', () => {
    const merged = new MergedEvents();
    const one: ChatEvent = { type: 'text-delta', index: 0, channel: 'content', text: 'a', tokens: 1, logprobs: null };
    const sent = Array.from({ length: 1_000 }, () => merged.add([one])).filter((events) => events.length > 0);
    expect(sent).toHaveLength(3);
    expect(sent.flat().reduce((sum, event) => sum + ('tokens' in event ? event.tokens : 0), 0)).toBe(768);
    expect(merged.take()).toMatchObject([{ tokens: 232 }]);
    expect(merged.take()).toEqual([]);
  });
});
