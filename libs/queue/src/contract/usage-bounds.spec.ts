import { describe, expect, it } from 'vitest';
import { type JobUsage, noTokens } from '#common';
import { findExcess } from './usage-bounds.js';

const bounds = { promptTokens: 100, completionTokens: 10, units: { images: 2, seconds: 1.5 } };

describe('findExcess', () => {
  it.each<[string, JobUsage]>([
    ['nothing', noTokens],
    ['everything', { ...noTokens, ...bounds }],
    ['parts', { promptTokens: 100, cachedTokens: 60, cacheWriteTokens: 40, completionTokens: 10, reasoningTokens: 10 }],
  ])('accepts usage within its bounds: %s', (_name, usage) => {
    expect(findExcess(usage, bounds)).toBeNull();
  });

  it.each<[string, object]>([
    ['promptTokens', { promptTokens: 101 }],
    ['completionTokens', { completionTokens: 1e9 }],
    ['completionTokens', { completionTokens: -1 }],
    ['completionTokens', { completionTokens: 1.5 }],
    ['completionTokens', { completionTokens: Number.NaN }],
    ['promptTokens', { promptTokens: '1' }],
    ['cachedTokens', { promptTokens: 5, cachedTokens: 6 }],
    ['cacheWriteTokens', { promptTokens: 5, cachedTokens: 4, cacheWriteTokens: 2 }],
    ['reasoningTokens', { completionTokens: 1, reasoningTokens: 2 }],
    ['units', { units: null }],
    ['units.images', { units: { images: 3 } }],
    ['units.seconds', { units: { seconds: 1.501 } }],
    ['units.upscale', { units: { upscale: 0 } }],
    ['units.constructor', { units: { constructor: 1 } }],
  ])('names the field beyond them: %s %j', (field, used) => {
    expect(findExcess({ ...noTokens, ...used } as JobUsage, bounds)).toBe(field);
  });
});
