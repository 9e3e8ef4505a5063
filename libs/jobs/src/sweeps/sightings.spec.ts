import { describe, expect, it } from 'vitest';
import { Sightings } from './sightings.js';

describe('Sightings', () => {
  it('confirms what looks lost twice, far enough apart, and forgets what was found in between', () => {
    let nowMs = 0;
    const sightings = new Sightings(100, { nowMs: () => nowMs, monotonicMs: () => nowMs });
    expect(sightings.confirm(['a', 'b'])).toEqual(new Set());
    nowMs = 99;
    expect(sightings.confirm(['a'])).toEqual(new Set());
    nowMs = 100;
    expect(sightings.confirm(['a', 'b'])).toEqual(new Set(['a']));
    sightings.forget();
    expect(sightings.confirm(['a'])).toEqual(new Set());
  });
});
