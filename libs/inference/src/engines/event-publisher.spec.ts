import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventPublisher } from './event-publisher.js';
import type { TextGenerationEvent } from '../contract/text-generation.js';

type Message = [id: string, event: TextGenerationEvent][];

function start(gatherMs = 20) {
  const messages: Message[] = [];
  const clock = { ms: 1_000 };
  const publisher = new EventPublisher({
    sink: (events) => void messages.push(events),
    gatherMs,
    clock: () => clock.ms,
  });
  const seen = new Set<string>();
  /** Returns one token of a request's first choice. */
  const text = (requestId: string, piece: string, logprobs: null | [] = null) => {
    const delta = { type: 'text-delta' as const, index: 0, text: piece, tokens: 1, logprobs };
    publisher.addText(`${requestId}/0`, requestId, delta, !seen.has(requestId));
    seen.add(requestId);
  };
  const step = (ms: number) => {
    clock.ms += ms;
    publisher.stepped();
  };
  return { publisher, messages, text, step };
}

const finished: TextGenerationEvent = { type: 'choice-finished', index: 0, finishReason: 'stop' };

/** Text that the clients received, and the order of their events. */
function textsOf(messages: Message[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [id, event] of messages.flat()) {
    texts[id] = (texts[id] ?? '') + (event.type === 'text-delta' ? event.text : '.');
  }
  return texts;
}

describe('EventPublisher', () => {
  it('sends the first text of a choice after its own step', () => {
    const { messages, text, step } = start();
    text('a', '1');
    step(2);
    text('a', '2');
    text('b', '1');
    step(2);
    expect(messages.map((message) => message.length)).toEqual([1, 2]);
  });

  it('joins the text of fast steps as long as the next step ends in time', () => {
    const { messages, text, step } = start(20);
    text('a', '0');
    step(6);
    for (const piece of '123456') {
      text('a', piece);
      step(6);
    }
    expect(textsOf(messages)).toEqual({ a: '0123456' });
    const [, ...later] = messages.flat().map(([, event]) => event);
    expect(later).toMatchObject([
      { text: '123', tokens: 3 },
      { text: '456', tokens: 3 },
    ]);
  });

  it('does not delay events when steps are slow', () => {
    const { messages, text, step } = start(20);
    for (const piece of '0123') {
      text('a', piece);
      step(21);
    }
    expect(messages).toHaveLength(4);
  });

  it('sends waiting text together with urgent events, in order', () => {
    const { publisher, messages, text, step } = start();
    for (const id of ['a', 'b']) text(id, '0');
    step(1);
    for (const id of ['a', 'b']) text(id, '1');
    step(1);
    text('b', '2');
    publisher.add('b', finished);
    step(1);
    expect(messages).toHaveLength(2);
    expect(textsOf(messages)).toEqual({ a: '01', b: '012.' });
  });

  it('joins log-probabilities with their text', () => {
    const { publisher, messages, step } = start();
    const scored = (piece: string) => [{ token: piece, logprob: -1, bytes: null, topLogprobs: [] }];
    for (const piece of 'xyz') {
      const delta = { type: 'text-delta' as const, index: 0, text: piece, tokens: 1, logprobs: scored(piece) };
      publisher.addText('a/0', 'a', delta, false);
    }
    step(100);
    expect(messages.flat()[0]?.[1]).toMatchObject({ text: 'xyz', logprobs: [...'xyz'].map((token) => ({ token })) });
  });

  it('lists the pieces of joined text, and none for a single delta', () => {
    const { publisher, messages, step } = start();
    const delta = (text: string, tokens: number) => ({
      type: 'text-delta' as const,
      index: 0,
      text,
      tokens,
      logprobs: null,
    });
    publisher.addText('a/0', 'a', delta('one', 1), true);
    step(1);
    for (const [text, tokens] of [
      ['</', 2],
      ['think>', 1],
      ['yes', 1],
    ] as const) {
      publisher.addText('a/0', 'a', delta(text, tokens), false);
    }
    step(100);
    const [alone, joined] = messages.flat().map(([, event]) => event);
    expect(alone).not.toHaveProperty('pieces');
    expect(joined).toMatchObject({
      text: '</think>yes',
      tokens: 4,
      pieces: [
        [2, 2, 0],
        [6, 1, 0],
        [3, 1, 0],
      ],
    });
  });

  it('does not lose, repeat or reorder events, whatever the step durations', () => {
    const stepOf = fc.record({ ms: fc.integer({ min: 0, max: 30 }), ids: fc.subarray(['a', 'b', 'c']) });
    fc.assert(
      fc.property(fc.array(stepOf, { maxLength: 40 }), fc.integer({ min: 0, max: 40 }), (steps, gatherMs) => {
        const { publisher, messages, text, step } = start(gatherMs);
        const wanted: Record<string, string> = {};
        steps.forEach(({ ms, ids }, number) => {
          for (const id of ids) {
            text(id, ` ${number}`);
            wanted[id] = `${wanted[id] ?? ''} ${number}`;
          }
          step(ms);
        });
        for (const id of Object.keys(wanted)) {
          publisher.add(id, finished);
          wanted[id] += '.';
        }
        step(0);
        expect(textsOf(messages)).toEqual(wanted);
      }),
    );
  });
});
