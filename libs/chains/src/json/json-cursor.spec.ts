import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonCursor, JsonFault } from './json-cursor.js';

/** Whether the cursor accepts a text as one value. */
function accepts(text: string): boolean {
  const cursor = new JsonCursor(Buffer.from(text));
  try {
    cursor.skipValue();
    cursor.expectEnd();
    return true;
  } catch (error) {
    if (error instanceof JsonFault) return false;
    throw error;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('the cursor', () => {
  it('passes every JSON value, however it is spaced, and finds its end', () => {
    const spacing = fc.constantFrom(undefined, 1, '\t', '\n ');
    fc.assert(
      fc.property(fc.json(), spacing, fc.constantFrom('', ' ', '\r\n'), (json, indent, around) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        const bytes = Buffer.from(`${around}${text}${around},"next"`);
        const cursor = new JsonCursor(bytes);
        const { start, end } = cursor.skipValue();
        expect(bytes.toString('utf8', start, end)).toBe(text);
      }),
    );
  });

  it('accepts nothing that JSON refuses, apart from the insides of strings', () => {
    const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"\\""', '1', '-0', '1e5', '01', 'true', 'nul', ' ', '"'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        expect(accepts(text)).toBe(parses(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['1', '-1', '18446744073709551615', '1.5e-300', 'true', 'null', '""', '"\\\\"', '"\\\\\\""', '[]', '{}'])(
    'passes %s',
    (text) => expect(accepts(text)).toBe(true),
  );

  it.each([
    '',
    ' ',
    '"',
    '"\\"',
    '[1,]',
    '[,1]',
    '{"a"}',
    '{"a":}',
    '{a:1}',
    '[1 2]',
    '{"a":1,}',
    '}',
    '[}',
    '1 1',
    '+1',
  ])('refuses %s', (text) => expect(accepts(text)).toBe(false));

  it('refuses a nesting that is too deep, and takes little time for hostile strings', () => {
    expect(accepts(`${'['.repeat(4_000)}${']'.repeat(4_000)}`)).toBe(true);
    expect(accepts('['.repeat(1_000_000))).toBe(false);
    // Each of these bytes is looked at a fixed number of times.
    expect(accepts(`"${'\\\\'.repeat(500_000)}"`)).toBe(true);
    expect(accepts(`"${'\\"'.repeat(500_000)}"`)).toBe(true);
    expect(accepts(`"${'\\'.repeat(1_000_001)}"`)).toBe(false);
  });
});
