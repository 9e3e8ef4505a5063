import { describe, expect, it } from 'vitest';
import { SuspectTracker } from './suspect-tracker.js';

describe('SuspectTracker', () => {
  it('confirms what appears lost twice, far enough apart, and forgets what was found in between', () => {
    let nowMs = 0;
    const suspects = new SuspectTracker(100, { nowMs: () => nowMs, monotonicMs: () => nowMs });
    expect(suspects.confirm(['a', 'b'])).toEqual(new Set());
    nowMs = 99;
    expect(suspects.confirm(['a'])).toEqual(new Set());
    nowMs = 100;
    expect(suspects.confirm(['a', 'b'])).toEqual(new Set(['a']));
    suspects.forget();
    expect(suspects.confirm(['a'])).toEqual(new Set());
  });
});
