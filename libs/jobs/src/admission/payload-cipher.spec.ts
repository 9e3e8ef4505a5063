import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PayloadCipher } from './payload-cipher.js';

const cipher = new PayloadCipher('ab'.repeat(32));

describe('PayloadCipher', () => {
  it('restores every payload', () => {
    fc.assert(
      fc.property(fc.string(), fc.dictionary(fc.string(), fc.jsonValue()), (requestId, payload) => {
        const expected: unknown = JSON.parse(JSON.stringify(payload));
        expect(cipher.decrypt(requestId, cipher.encrypt(requestId, payload))).toEqual(expected);
      }),
    );
  });

  it('hides the text, and never produces the same bytes twice', () => {
    const [first, second] = [1, 2].map(() => Buffer.from(cipher.encrypt('r', { prompt: 'a secret of mine' })));
    expect(first?.includes('secret')).toBe(false);
    expect(first?.equals(second ?? Buffer.alloc(0))).toBe(false);
  });

  it('refuses bytes of another request, of another key, and altered bytes', () => {
    const bytes = cipher.encrypt('one', { prompt: 'text' });
    expect(() => cipher.decrypt('two', bytes)).toThrow();
    expect(() => new PayloadCipher('cd'.repeat(32)).decrypt('one', bytes)).toThrow();
    const changed = Uint8Array.from(bytes);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    expect(() => cipher.decrypt('one', changed)).toThrow();
  });

  it('accepts only keys of 32 bytes', () => {
    expect(() => new PayloadCipher('ab')).toThrow('32 bytes');
  });
});
