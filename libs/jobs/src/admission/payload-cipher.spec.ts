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

  it('opens with any of several keys, and seals with the first', () => {
    const [older, newer] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;
    const during = new PayloadCipher([newer, older]);
    expect(during.decrypt('r', cipher.encrypt('r', { prompt: 'old' }))).toEqual({ prompt: 'old' });
    const sealed = during.encrypt('r', { prompt: 'new' });
    expect(new PayloadCipher(newer).decrypt('r', sealed)).toEqual({ prompt: 'new' });
    expect(() => cipher.decrypt('r', sealed)).toThrow('not here');
  });

  it('opens nothing that was sealed for another purpose', () => {
    const sealed = new PayloadCipher('ab'.repeat(32), 'stored responses').encrypt('r', {});
    expect(() => cipher.decrypt('r', sealed)).toThrow();
  });

  it('accepts only keys of 32 bytes', () => {
    expect(() => new PayloadCipher('ab')).toThrow('32 bytes');
  });
});
