import { describe, expect, it } from 'vitest';
import { sideOfTier, tierOfSize } from './image-tiers.js';

describe('a tier', () => {
  it.each([
    ['1K', 1_024],
    ['2k', 2_048],
    ['1.5K', 1_536],
    ['8K', 8_192],
    ['512', 512],
    ['720p', 720],
  ])('named %s has its side', (tier, side) => {
    expect(sideOfTier(tier)).toBe(side);
  });

  it.each(['', 'HD', '9K', '0K', '0.01K', '16', '1024x768', '-1K', '1e3'])('named %j has no size', (tier) => {
    expect(() => sideOfTier(tier)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param: 'resolution' }));
  });

  it('of an image is the smallest that contains it', () => {
    const tiers = ['2K', '1K', 'HD'];
    expect(tierOfSize({ width: 512, height: 512 }, tiers)).toBe('1K');
    expect(tierOfSize({ width: 1_024, height: 1_024 }, tiers)).toBe('1K');
    expect(tierOfSize({ width: 1_792, height: 1_024 }, tiers)).toBe('2K');
    expect(tierOfSize({ width: 4_096, height: 4_096 }, tiers)).toBe('2K');
    expect(tierOfSize({ width: 512, height: 512 }, [])).toBeNull();
  });
});
