import { describe, expect, it } from 'vitest';
import { routeKeyOf } from './route-key.js';

describe('routeKeyOf', () => {
  it('is the same for the same text, and for no other', () => {
    const key = routeKeyOf('scope-1 a chat');
    expect(routeKeyOf('scope-1 a chat')).toBe(key);
    expect(routeKeyOf('scope-2 a chat')).not.toBe(key);
  });

  it('reveals nothing of the text', () => {
    expect(routeKeyOf('secret')).toMatch(/^[0-9a-f]{64}$/);
  });
});
