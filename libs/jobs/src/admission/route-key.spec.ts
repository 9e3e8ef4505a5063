import { describe, expect, it } from 'vitest';
import { routeKeyOf } from './route-key.js';

describe('routeKeyOf', () => {
  it('is the same for the same account and text, and for no other', () => {
    const key = routeKeyOf('account-1', 'a chat');
    expect(routeKeyOf('account-1', 'a chat')).toBe(key);
    expect(routeKeyOf('account-2', 'a chat')).not.toBe(key);
    expect(routeKeyOf('account-1', 'another chat')).not.toBe(key);
    expect(routeKeyOf('account-', '1a chat')).not.toBe(key);
  });

  it('reveals nothing of the text', () => {
    expect(routeKeyOf('account-1', 'secret')).toMatch(/^[0-9a-f]{64}$/);
  });
});
