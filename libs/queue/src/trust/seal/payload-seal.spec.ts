import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PayloadSeal } from './payload-seal.js';

const [one, two] = ['11'.repeat(32), '22'.repeat(32)] as const;

describe('a payload seal', () => {
  it('opens what it sealed, for any text', () => {
    const seal = new PayloadSeal([one]);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(seal.open('here', seal.seal('here', text))).toBe(text);
      }),
    );
  });

  it('is bound to its place and key, and to every byte', () => {
    const seal = new PayloadSeal([one]);
    const sealed = seal.seal('here', 'a text');
    expect(() => seal.open('there', sealed)).toThrow();
    expect(() => new PayloadSeal([two]).open('here', sealed)).toThrow();
    expect(new PayloadSeal([two, one]).open('here', sealed)).toBe('a text');
    for (const broken of ['', 'v1', 'v1..', `v2${sealed.slice(2)}`, `${sealed.slice(0, -8)}AAAAAAA=`]) {
      expect(() => seal.open('here', broken)).toThrow(expect.objectContaining({ code: 'INFERENCE_FAILED' }));
    }
  });

  it('never seals a text twice to the same bytes', () => {
    const seal = new PayloadSeal([one]);
    expect(seal.seal('here', 'a')).not.toBe(seal.seal('here', 'a'));
  });

  it.each(['', 'ab', 'zz'.repeat(32)])('takes no key such as %j', (key) => {
    expect(() => new PayloadSeal([key])).toThrow(RangeError);
  });
});
