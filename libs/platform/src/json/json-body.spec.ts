import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { findJsonFault } from './json-fault.js';
import { parseJsonBody } from './json-body.js';

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
        // Dropped on purpose, see below.
        fc.pre(!text.includes('"__proto__"'));
        const expected: unknown = JSON.parse(text);
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

  it('drops __proto__ keys', () => {
    const value = parseJsonBody(Buffer.from('{"a":{"__proto__":{"polluted":true}},"b":1}'));
    expect(value).toEqual({ a: {}, b: 1 });
    expect(Object.keys((value as { a: object }).a)).toEqual([]);
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
