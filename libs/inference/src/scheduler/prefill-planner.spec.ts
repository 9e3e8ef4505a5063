import { describe, expect, it } from 'vitest';
import { PrefillPlanner, waitsForOlder } from './prefill-planner.js';
import type { ReuseRule } from './prefix-store.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';
import { RunningSequence } from './running-sequence.js';

let count = 0;
function sequenceOf(prompt: number[], prefilled = 0): RunningSequence {
  const request = sequenceRequest({ id: `s${count++}`, prompt, listener: new RecordingListener() });
  const sequence = new RunningSequence(request);
  sequence.prefilled = prefilled;
  return sequence;
}

const ofLength = (length: number): RunningSequence => sequenceOf(new Array<number>(length).fill(1));

describe('PrefillPlanner', () => {
  it('alternates between the oldest prompt and the one with least left', () => {
    const planner = new PrefillPlanner(64, 1);
    const [long, middle, short] = [ofLength(900), ofLength(500), ofLength(300)];
    const chosen = [1, 2, 3, 4].map(() => planner.choose([long, middle, short])[0]);
    expect(chosen).toEqual([long, short, long, short]);
  });

  it('fills one chunk with prompts that end in it, counting the padding', () => {
    const planner = new PrefillPlanner(64, 16);
    const prompts = [20, 21, 21, 20, 3].map(ofLength);
    expect(planner.choose(prompts)).toEqual([prompts[0], prompts[1], prompts[2]]);
    expect(planner.choose([ofLength(65), ofLength(3)])).toHaveLength(1);
  });

  it('lets prompts of a fast model share up to four chunks, and those of a slow one only one', () => {
    const prompts = Array.from({ length: 16 }, () => ofLength(16));
    const fast = new PrefillPlanner(64, 16);
    fast.observe(64, 0.64);
    expect(fast.choose(prompts)).toHaveLength(16);
    const middling = new PrefillPlanner(64, 16);
    middling.observe(64, 64 * (25 / 128));
    expect(middling.choose(prompts)).toHaveLength(8);
    const slow = new PrefillPlanner(64, 16);
    slow.observe(64, 640);
    expect(slow.choose(prompts)).toHaveLength(4);
  });

  it('shares a run only among prompts that end in it', () => {
    const fast = new PrefillPlanner(64, 16);
    fast.observe(64, 0.64);
    const prompts = [10, 100, 12].map(ofLength);
    expect(fast.choose(prompts)).toEqual([prompts[0], prompts[2]]);
  });

  it('never exceeds the maximum rows of a run', () => {
    expect(new PrefillPlanner(64, 2).choose([1, 1, 1].map(ofLength))).toHaveLength(2);
  });
});

describe('waitsForOlder', () => {
  const shared = Array.from({ length: 40 }, (_, index) => index);
  const later = sequenceOf([...shared, 91, 92]);
  const any: ReuseRule = { grain: 1, isExact: false };

  it('waits while an older prompt computes the shared prefix', () => {
    expect(waitsForOlder(later, [sequenceOf([...shared, 99], 10)], any, 0)).toBe(true);
  });

  it('continues when the older prompt is past it, when as much is cached elsewhere, or when little is shared', () => {
    expect(waitsForOlder(later, [sequenceOf([...shared, 99], 40)], any, 0)).toBe(false);
    expect(waitsForOlder(later, [sequenceOf([...shared, 99], 10)], any, 40)).toBe(false);
    expect(waitsForOlder(later, [sequenceOf([0, 1, 2, 99])], any, 0)).toBe(false);
  });

  it('does not wait for an unusable prefix: shorter than a chunk, or computed from the middle of one', () => {
    const exact: ReuseRule = { grain: 16, isExact: true };
    expect(waitsForOlder(later, [sequenceOf([...shared.slice(0, 20), 99])], exact, 0)).toBe(true);
    expect(waitsForOlder(later, [sequenceOf([...shared.slice(0, 20), 99])], exact, 16)).toBe(false);
    expect(waitsForOlder(later, [sequenceOf([...shared, 99], 10)], exact, 0)).toBe(false);
  });
});
