import { beforeEach, describe, expect, it } from 'vitest';
import { SharedResponses } from './shared-responses.js';

let nowMs: number;
let responses: SharedResponses;

beforeEach(() => {
  nowMs = 1_000;
  responses = new SharedResponses(() => nowMs);
});

const keep = (id: string, text: string, acceptedMs = 4_000) => responses.keep(id, acceptedMs, { text, sinceMs: nowMs });
const find = (id: string, acceptedMs: number) => responses.find(id, acceptedMs)?.text ?? null;

describe('a shared response', () => {
  it('is for clients that accept its age', () => {
    keep('a', 'first');
    nowMs += 3_999;
    expect(find('a', 4_000)).toBe('first');
    expect(find('a', 3_999)).toBeNull();
    expect(find('a', 0)).toBeNull();
    expect(find('b', 4_000)).toBeNull();
  });

  it('is for no one after 10 s, whatever they accept', () => {
    keep('a', 'first');
    nowMs += 10_000;
    expect(find('a', 60_000)).toBeNull();
  });

  it('is kept where clients share, and replaced by one for a client that accepts no age', () => {
    keep('a', 'nobody shares', 0);
    expect(find('a', 4_000)).toBeNull();
    keep('a', 'first');
    nowMs += 1;
    keep('a', 'after a change', 0);
    expect(find('a', 4_000)).toBe('after a change');
  });

  it('is not replaced by one that took longer', () => {
    const slow = { text: 'slow', sinceMs: nowMs };
    nowMs += 1;
    keep('a', 'newer');
    responses.keep('a', 4_000, slow);
    expect(find('a', 4_000)).toBe('newer');
  });

  it('makes room for others, and is small', () => {
    keep('first', 'first');
    for (let index = 0; index < 200; index += 1) keep(`view ${index}`, `body ${index}`);
    expect(find('view 0', 4_000)).toBe('body 0');
    expect(find('first', 4_000)).toBeNull();
    keep('view 0', 'x'.repeat(1024 * 1024));
    expect(find('view 0', 4_000)).toBeNull();
  });
});
