import { describe, expect, it } from 'vitest';
import { deriveKey } from './derived-key.js';

const secret = 'ab'.repeat(32);

describe('deriveKey', () => {
  it('derives the same 32 bytes for a purpose, and others for another purpose or secret', () => {
    expect(deriveKey(secret, 'one')).toEqual(deriveKey(secret, 'one'));
    expect(deriveKey(secret, 'one')).toHaveLength(32);
    expect(deriveKey(secret, 'two')).not.toEqual(deriveKey(secret, 'one'));
    expect(deriveKey('cd'.repeat(32), 'one')).not.toEqual(deriveKey(secret, 'one'));
  });

  it.each(['', 'short', 'zz'.repeat(32)])('rejects the secret %j', (text) => {
    expect(() => deriveKey(text, 'one')).toThrow('32 bytes');
  });
});
