import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical-json.js';

describe('the canonical form of JSON', () => {
  it('is that of the examples of RFC 8785', () => {
    const value = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],` +
        String.raw`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    ) as object;
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it('orders members by UTF-16 code units, not by code points', () => {
    const names = ['\u20ac', '\r', '\ufb33', '1', '\u{1f600}', '\u0080', '\u00f6', '10', '2'];
    const object = Object.fromEntries(names.map((name) => [name, 0]));
    const read = Object.keys(JSON.parse(canonicalJson({ a: object })) as object);
    expect(read).toEqual(['a']);
    expect(canonicalJson(object)).toBe(
      '{"\\r":0,"1":0,"10":0,"2":0,"\u0080":0,"\u00f6":0,"\u20ac":0,"\u{1f600}":0,"\ufb33":0}',
    );
  });

  it('does not depend on the order in which members came, and holds the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const canonical = canonicalJson(value);
        expect(JSON.parse(canonical)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(canonical))).toBe(canonical);
        expect(canonicalJson(reversed(value))).toBe(canonical);
      }),
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { '\udfff': 1 }, [undefined], 1n, () => 1])(
    'does not exist for %o',
    (value) => {
      expect(() => canonicalJson(value)).toThrow();
    },
  );
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const);
  return Object.fromEntries(members.toReversed());
}
