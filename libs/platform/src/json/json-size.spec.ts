import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { readJson } from './json-body.js';
import { checkJsonSize, jsonLimits } from './json-size.js';

function refusal(text: string): PlatformError | null {
  try {
    checkJsonSize(Buffer.from(text));
    return null;
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
}

const listOf = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join(',')}]`;
const objectOf = (count: number): string =>
  `{${Array.from({ length: count }, (_value, index) => `"k${index}":1`).join(',')}}`;

describe('the size of a JSON body', () => {
  it('is limited by values, members and containers, each named with its limit', () => {
    const cases = [
      { text: listOf(jsonLimits.values, '1'), limit: '200,000 values' },
      { text: objectOf(jsonLimits.members + 1), limit: '50,000 members of objects' },
      { text: listOf(jsonLimits.containers, '[]'), limit: '100,000 objects and arrays' },
      { text: '['.repeat(1_000_000), limit: '100,000 objects and arrays' },
    ];
    for (const { text, limit } of cases) {
      expect(refusal(text)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining(limit) });
    }
  });

  it('allows bodies up to each limit', () => {
    expect(refusal(listOf(jsonLimits.values - 2, '1'))).toBeNull();
    expect(refusal(objectOf(jsonLimits.members))).toBeNull();
    expect(refusal(listOf(jsonLimits.containers - 1, '[]'))).toBeNull();
  });

  it('counts nothing inside strings', () => {
    const text = JSON.stringify({ content: '{[,:"\\'.repeat(100_000) });
    expect(refusal(text)).toBeNull();
    expect(readJson(Buffer.from(text))).toEqual(JSON.parse(text));
  });

  it('changes nothing about any small body', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(refusal(text)).toBeNull();
      }),
    );
  });
});
