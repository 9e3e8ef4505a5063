import { describe, expect, it } from 'vitest';
import { RefusedTime } from './refused-time.js';

describe('RefusedTime', () => {
  it('refuses a caller behind two seconds in a minute, and no other', () => {
    let now = 0;
    const refused = new RefusedTime(() => now);
    refused.add('a', 1_000);
    refused.check('a');
    refused.add('a', 1_000);
    expect(() => refused.check('a')).toThrow(
      expect.objectContaining({ code: 'RATE_LIMIT_EXCEEDED', retry: { afterSeconds: 1 } }),
    );
    refused.check('b');
    now = 31_000;
    refused.check('a');
    refused.add('a', 980);
    refused.check('a');
    refused.add('a', 100);
    expect(() => refused.check('a')).toThrow('took this account too much time');
  });

  it('lets a caller go on after two minutes, whatever its compilations took', () => {
    let now = 0;
    const refused = new RefusedTime(() => now);
    refused.add('a', 1_000_000);
    now = 119_000;
    expect(() => refused.check('a')).toThrow(/in [12] s/);
    now = 120_001;
    refused.check('a');
  });

  it('forgets the oldest of too many callers', () => {
    const refused = new RefusedTime(() => 0);
    for (let caller = 0; caller <= 1_000; caller++) refused.add(`${caller}`, 9_000);
    refused.check('0');
    expect(() => refused.check('1')).toThrow();
  });
});
