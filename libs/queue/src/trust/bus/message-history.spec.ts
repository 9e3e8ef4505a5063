import { describe, expect, it } from 'vitest';
import { maxAgeMs, MessageHistory } from './message-history.js';

const message = { senderId: 's', owner: 'a', number: 1, sentAtMs: 0 };

describe('MessageHistory', () => {
  it('counts each message once, in any order', () => {
    const history = new MessageHistory();
    const numbers = [3, 1, 2, 3, 1, 500, 499, 2];
    expect(numbers.map((number) => history.refusalOf({ ...message, number }, 0))).toEqual([
      ...[null, null, null, 'replayed', 'replayed', null, null, 'replayed'],
    ]);
  });

  it('refuses what it may have forgotten', () => {
    const history = new MessageHistory();
    for (let number = 1; number <= 5_000; number += 1) history.refusalOf({ ...message, number }, 0);
    for (const number of [1, 2_000, 3_976, 4_500])
      expect(history.refusalOf({ ...message, number }, 0)).toBe('replayed');
  });

  it.each([1, 31, 32, 1_023, 1_024, 1_025, 100_000])('tells numbers apart when they advance by %i', (step) => {
    const history = new MessageHistory();
    const add = (number: number) => history.refusalOf({ ...message, number }, 0);
    const sent = Array.from({ length: 50 }, (_, index) => 2_000 + step * index);
    expect(sent.flatMap((number) => [add(number), add(number)])).toEqual(sent.flatMap(() => [null, 'replayed']));
    const highest = sent.at(-1) ?? 0;
    const window = Array.from({ length: 1_023 }, (_, index) => highest - 1_023 + index);
    expect(window.filter((number) => add(number) === 'replayed')).toEqual(window.filter((each) => sent.includes(each)));
    expect(window.filter((number) => add(number) !== 'replayed')).toEqual([]);
    expect(add(highest - 1_024)).toBe('replayed');
  });

  it('takes messages of hosts whose clocks differ, within bounds', () => {
    const history = new MessageHistory();
    const at = (number: number, sentAtMs: number) => history.refusalOf({ ...message, number, sentAtMs }, 0);
    expect([at(1, -maxAgeMs), at(2, maxAgeMs), at(3, -maxAgeMs - 1), at(4, maxAgeMs + 1)]).toEqual([
      ...[null, null, 'stale', 'stale'],
    ]);
  });

  it('remembers a sender as long as its messages are not too old', () => {
    const history = new MessageHistory();
    history.refusalOf({ ...message, sentAtMs: maxAgeMs }, 0);
    // Messages of other senders arrive, which is when those of the past are forgotten.
    for (const nowMs of [maxAgeMs, 2 * maxAgeMs]) {
      history.refusalOf({ ...message, senderId: `other-${nowMs}`, sentAtMs: nowMs }, nowMs);
    }
    expect(history.refusalOf({ ...message, sentAtMs: maxAgeMs }, 2 * maxAgeMs)).toBe('replayed');
  });

  it('has room for everybody but one who makes up senders', () => {
    const history = new MessageHistory();
    const add = (owner: string | null, count: number, nowMs = 0) =>
      Array.from({ length: count }, (_, index) =>
        history.refusalOf({ senderId: `${owner} ${index} ${nowMs}`, owner, number: 1, sentAtMs: nowMs }, nowMs),
      );
    expect(add('a', 10_010).filter((refusal) => refusal === 'crowded')).toHaveLength(10);
    expect(add('b', 1)).toEqual([null]);
    expect(new Set(add(null, 10_010))).toEqual(new Set([null]));
    expect(add('a', 1, 2 * maxAgeMs + 1)).toEqual([null]);
  });

  it('has room again after its clock was set back', () => {
    const history = new MessageHistory();
    const add = (senderId: string, nowMs: number) =>
      history.refusalOf({ senderId, owner: 'a', number: 1, sentAtMs: nowMs }, nowMs);
    const laterMs = 60 * 60_000;
    for (let each = 0; each < 10_000; each += 1) add(`s${each}`, laterMs);
    expect(add('another', laterMs)).toBe('crowded');
    expect([add('another', 0), add('another', 0)]).toEqual([null, 'replayed']);
  });

  it('has room for a pool of hundreds of workers that is restarted twice', () => {
    const history = new MessageHistory();
    const refusals = [0, 1, 2].flatMap((start) =>
      Array.from({ length: 400 }, (_, index) => {
        const nowMs = start * 5 * 60_000;
        return history.refusalOf({ senderId: `${start} ${index}`, owner: 'a', number: 1, sentAtMs: nowMs }, nowMs);
      }),
    );
    expect(new Set(refusals)).toEqual(new Set([null]));
  });
});
