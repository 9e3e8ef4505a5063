import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { isExactJson } from './json-source.js';
import { findJsonFault } from './json-fault.js';
import { checkJson, parseJsonBody } from './json-body.js';

function refusal(body: string | Buffer): PlatformError {
  try {
    parseJsonBody(Buffer.from(body as string));
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}

function faultOf(text: string): { position: number; line: number; column: number } {
  const { position, line, column } = findJsonFault(text);
  return { position, line, column };
}

describe('parseJsonBody', () => {
  it('returns the value of any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value).replaceAll(String.raw`\u0000`, '');
        const expected: unknown = JSON.parse(text);
        fc.pre(isExactJson(text));
        expect(parseJsonBody(Buffer.from(text))).toEqual(expected);
      }),
    );
  });

  it('rejects unreadable bytes with INVALID_REQUEST and nothing else', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.string().map((text) => Buffer.from(`{"a":${text}`)),
    );
    fc.assert(
      fc.property(noise, (bytes) => {
        try {
          parseJsonBody(Buffer.from(bytes));
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
        }
      }),
    );
  });

  it('names the field of a number outside the double range', () => {
    const error = refusal('{"messages":[{"weight":1e309}]}');
    expect(error.code).toBe('INVALID_REQUEST');
    expect(error.param).toBe('messages[0].weight');
  });

  it('names the field with an unpaired surrogate', () => {
    expect(refusal(String.raw`{"messages":[{"content":"a\ud800b"}]}`).param).toBe('messages[0].content');
    expect(refusal(String.raw`{"a":{"\udc00":1}}`).message).toContain('surrogate');
  });

  it('names the field with a NUL character, which a PostgreSQL queue cannot store', () => {
    const error = refusal(String.raw`{"messages":[{"content":"a\u0000b"}]}`);
    expect([error.param, error.message]).toEqual(['messages[0].content', 'messages[0].content holds a NUL character.']);
    expect(refusal(String.raw`{"a":{"\u0000":1}}`).code).toBe('INVALID_REQUEST');
  });

  it('rejects 10 000 levels of nesting without recursion', () => {
    expect(refusal(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`).message).toContain('deeper than 64 levels');
    expect(refusal('['.repeat(100_000)).message).toContain('position 100000');
  });

  it('keeps a member called __proto__ as an own one, and no prototype', () => {
    const text = '{"a":{"b":0,"__proto__":{"polluted":true},"c":1}}';
    const { a } = parseJsonBody(Buffer.from(text)) as { a: Record<string, unknown> };
    expect([Object.keys(a), Object.getPrototypeOf(a), a.polluted]).toEqual([
      ['b', '__proto__', 'c'],
      Object.prototype,
      undefined,
    ]);
    expect(JSON.stringify({ a })).toBe(text);
    expect(refusal(String.raw`{"__proto__":{"a":"\u0000"}}`).param).toBe('__proto__.a');
  });

  it('names the field of an integer that no double equals', () => {
    const error = refusal('{"x":"1234567890123456","seed":9223372036854775807}');
    expect([error.code, error.param]).toEqual(['INVALID_REQUEST', 'seed']);
    expect(error.message).toBe('seed is an integer that a double-precision number does not hold exactly.');
    expect(refusal(String.raw`{"a":[{"\"\\":[1,[],-9007199254740993]}]}`).param).toBe('a[0]."\\[2]');
    expect(refusal('{"schema":{"properties":{"default":{"const":9007199254740993}}}}').param).toBe(
      'schema.properties.default.const',
    );
  });

  it('takes every integer that a double equals, and numbers that are no integers', () => {
    const text =
      '[9007199254740991,-9007199254740994,1152921504606846976,1e20,0.12345678901234567891,"9007199254740993"]';
    expect(parseJsonBody(Buffer.from(text))).toEqual(JSON.parse(text));
  });

  it('moves bounds of schemas inward to the next double, and leaves annotations', () => {
    const text = '{"minimum":-9223372036854775809,"maximum":9223372036854775807,"default":9007199254740993}';
    expect(parseJsonBody(Buffer.from(text))).toEqual({
      minimum: -(2 ** 63),
      maximum: 2 ** 63 - 1024,
      default: 9007199254740992,
    });
  });

  it('finds each inexact integer by its path, and no other number', () => {
    const number = fc.oneof(
      fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
      fc.double({ noNaN: true }).map(String),
    );
    const names = fc.string().filter((name) => name.isWellFormed() && !name.includes('\0'));
    fc.assert(
      fc.property(names, names, number, fc.constantFrom('', ' ', '\n\t'), (name, text, written, space) => {
        fc.pre(Number.isFinite(Number(written)));
        const body = `{${space}${JSON.stringify(name)}${space}:[${JSON.stringify(text)},${space}{},[[]${space},${written}${space}]]}`;
        const isExact = !/^-?\d+$/.test(written) || BigInt(Number(written)) === BigInt(written);
        if (isExact) expect(parseJsonBody(Buffer.from(body))).toEqual(JSON.parse(body));
        else expect(refusal(body).issues?.[0]?.path).toEqual([name, 2, 1]);
      }),
    );
  });

  it('keeps the order of properties beside them where names are like integers', () => {
    const text =
      '{"schema":[{"properties":{"b":{"properties":{"1":{},"0":{}}},"2":{},"a":{},"1":{}}},{"properties":{"1":{},"a":{}}}]}';
    const { schema } = parseJsonBody(Buffer.from(text)) as { schema: Record<string, unknown>[] };
    expect(schema[0]?.['x-property-order']).toEqual(['b', '2', 'a', '1']);
    expect(schema[0]?.properties).toMatchObject({ b: { 'x-property-order': ['1', '0'] } });
    expect(schema[1]).toEqual({ properties: { 1: {}, a: {} } });
    expect(parseJsonBody(Buffer.from('{"a":{"2":0,"1":0}}'))).toEqual({ a: { 1: 0, 2: 0 } });
  });

  it('rejects bytes that are not UTF-8', () => {
    expect(refusal(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])).message).toContain('UTF-8');
  });

  it('quotes nothing of a malformed body', () => {
    const error = refusal('{"secret": hunter2}');
    expect(error.message).not.toContain('hunter');
    expect(error.message).toContain('position 11 (line 1, column 12)');
  });
});

describe('checkJson', () => {
  it('accepts integers that no double equals, and refuses all else that is refused', () => {
    const exact = Buffer.from('{"id":18446744073709551615}');
    expect(() => parseJsonBody(exact)).toThrow('double-precision');
    expect(() => checkJson(exact)).not.toThrow();
    for (const text of [
      '{"a":1e999}',
      String.raw`["\ud800"]`,
      '{"a"}',
      '',
      '['.repeat(100),
      `${'['.repeat(65)}${']'.repeat(65)}`,
    ]) {
      expect(() => checkJson(Buffer.from(text)), text).toThrow(PlatformError);
    }
    expect(() => checkJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow('UTF-8');
  });
});

describe('findJsonFault', () => {
  it.each([
    ['', 0],
    ['{', 1],
    ['{"a"', 4],
    ['{"a":1', 6],
    ['{"a":1,}', 7],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['{"a":01}', 6],
    ['{"a":"b\u0001"}', 7],
    [String.raw`"\x"`, 1],
    ['"abc', 4],
    ['1 1', 2],
    ['nul', 0],
    ["{'a':1}", 1],
  ])('locates the error in %j', (text, position) => {
    expect(() => JSON.parse(text) as unknown).toThrow();
    expect(faultOf(text).position).toBe(position);
  });

  it('counts lines and columns', () => {
    expect(faultOf('{\n  "a": 1,\n  b\n}')).toEqual({ position: 14, line: 3, column: 3 });
  });

  it('reads strings of several megabytes', () => {
    expect(faultOf(`"${'x\\n'.repeat(3_000_000)}`).position).toBe(9_000_001);
  });

  it('locates the error in every truncation of a document', () => {
    const whole = JSON.stringify({ a: [1, -2.5e3, 'x\u00e9\n', { b: null, c: [true, false] }], d: {} });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: whole.length - 1 }), (length) => {
        const { position } = findJsonFault(whole.slice(0, length));
        expect(position).toBeLessThanOrEqual(length);
      }),
    );
  });
});
