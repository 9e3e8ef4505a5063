import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Frame } from './reply-frame.js';
import { HeldReplies, ReplySubscriber } from './reply-subscriber.js';

function frame(sender: string, number: number): Frame {
  return { sender, number, parts: [{ requestId: `${sender}${number}`, stream: 's', first: 0, events: [] }] };
}

describe('reply subscriber', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('delivers each message of each sender once and in order, in whatever order they arrive', () => {
    const arrival = fc
      .record({ left: fc.integer({ min: 1, max: 8 }), right: fc.integer({ min: 1, max: 8 }) })
      .chain(({ left, right }) => {
        const frames = [
          ...Array.from({ length: left }, (_value, number) => frame('l', number)),
          ...Array.from({ length: right }, (_value, number) => frame('r', number)),
        ];
        // Delivers every message at least once, and some twice.
        return fc
          .tuple(fc.shuffledSubarray(frames), fc.shuffledSubarray(frames, { minLength: frames.length }))
          .map(([some, all]) => ({ left, right, frames: [...some, ...all] }));
      });
    fc.assert(
      fc.property(arrival, ({ left, right, frames }) => {
        const seen: string[] = [];
        const subscriber = new ReplySubscriber(
          (part) => seen.push(part.requestId),
          () => undefined,
        );
        for (const each of frames) subscriber.receive(each, 100);
        const ofSender = (sender: string) => seen.filter((requestId) => requestId.startsWith(sender));
        expect(ofSender('l')).toEqual(Array.from({ length: left }, (_value, number) => `l${number}`));
        expect(ofSender('r')).toEqual(Array.from({ length: right }, (_value, number) => `r${number}`));
        expect(subscriber.expected()).toEqual({ l: left, r: right });
        subscriber.close();
      }),
    );
  });

  it('requests a missing message, and continues without it when it does not arrive', () => {
    const seen: string[] = [];
    let asked = 0;
    const subscriber = new ReplySubscriber(
      (part) => seen.push(part.requestId),
      () => {
        asked += 1;
      },
    );
    for (const number of [0, 2, 3]) subscriber.receive(frame('s', number), 100);
    expect({ seen, asked }).toEqual({ seen: ['s0'], asked: 1 });
    vi.runAllTimers();
    subscriber.receive(frame('s', 1), 100);
    subscriber.receive(frame('s', 4), 100);
    expect(seen).toEqual(['s0', 's2', 's3', 's4']);
  });

  it('keeps no more than 32 MiB of messages that wait, at the cost of who sent most', () => {
    const [seen, million]: [string[], number] = [[], 1_000_000];
    const subscriber = new ReplySubscriber(
      (part) => seen.push(part.requestId),
      () => undefined,
    );
    subscriber.receive(frame('honest', 1), million);
    for (const name of ['a', 'b']) {
      for (let number = 1; number <= 24; number += 1) subscriber.receive(frame(name, number), million);
    }
    const given = seen.length;
    expect(given).toBeGreaterThanOrEqual(8);
    expect(seen.filter((requestId) => requestId.startsWith('honest'))).toEqual([]);
    subscriber.receive(frame('honest', 0), million);
    expect(seen.slice(given)).toEqual(['honest0', 'honest1']);
    // Small messages count for more than their text.
    for (let number = 2; number <= 100_000; number += 1) subscriber.receive(frame('many', number), 1);
    expect(seen.length).toBeGreaterThan(30_000);
    subscriber.close();
  });

  it('lets the scope make room that holds most', () => {
    const [seen, all, million]: [string[], HeldReplies, number] = [[], new HeldReplies(), 1_000_000];
    const open = () =>
      new ReplySubscriber(
        (part) => seen.push(part.requestId),
        () => undefined,
        all,
      );
    const [honest, loud] = [open(), open()];
    honest.receive(frame('honest', 1), 3 * million);
    // Each of the attacker's senders holds less than the honest one.
    for (let sender = 0; sender < 60; sender += 1) loud.receive(frame(`s${sender}.`, 1), million);
    expect(seen.length).toBeGreaterThan(20);
    expect(seen).not.toContain('honest1');
    expect(honest.holds + loud.holds).toBeLessThan(33 * million);
    for (const each of [honest, loud]) each.close();
  });

  it('asks nothing of a sender that was silent for as long as senders keep what they sent', () => {
    const subscriber = new ReplySubscriber(
      () => undefined,
      () => undefined,
    );
    subscriber.receive(frame('early', 0), 100);
    vi.advanceTimersByTime(50_000);
    subscriber.receive(frame('late', 0), 100);
    expect(subscriber.expected()).toEqual({ early: 1, late: 1 });
    vi.advanceTimersByTime(20_000);
    expect(subscriber.expected()).toEqual({ late: 1 });
    subscriber.close();
  });
});
