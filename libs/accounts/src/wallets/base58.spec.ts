import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base58Bytes, encodeBase58 } from './base58.js';

describe('base58', () => {
  it('decodes what it encodes, to that length alone', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
        const text = encodeBase58(bytes);
        expect(base58Bytes(text, bytes.length)).toEqual(bytes);
        expect(base58Bytes(text, bytes.length + 1)).toBeNull();
      }),
    );
  });

  it('refuses other characters, and more than names have', () => {
    expect(['0', 'O', 'I', 'l', 'é'].map((text) => base58Bytes(text, 1))).toEqual([null, null, null, null, null]);
    expect(() => encodeBase58(new Uint8Array(65))).toThrow(RangeError);
  });
});
