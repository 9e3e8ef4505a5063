import { describe, expect, it } from 'vitest';
import { callerAddress } from './caller-address.js';

describe('callerAddress', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:aaaa::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:bbbb::9', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', 'unknown'],
    ['300.1.1.1', 'unknown'],
  ])('maps %j to %j', (ip, caller) => {
    expect(callerAddress(ip)).toBe(caller);
  });
});
