import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PartCollector, toParts } from './text-parts.js';

describe('text parts', () => {
  it('fit a notification and are joined again, whatever the text', () => {
    const unit = fc.constantFrom('a', 'é', '字', '🙂', '"', '\n', ':');
    const text = fc
      .array(fc.tuple(unit, fc.integer({ min: 1, max: 9_000 })))
      .map((runs) => runs.map(([character, count]) => character.repeat(count)).join(''));
    fc.assert(
      fc.property(text, (value) => {
        const parts = toParts('abcdef012345', 123_456, value);
        for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThan(8_000);
        const collector = new PartCollector();
        const whole = parts.map((part) => collector.add(part));
        expect(whole.at(-1)).toBe(value);
        expect(whole.slice(0, -1).every((part) => part === null)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('of a text with a missing part are never delivered', () => {
    const collector = new PartCollector();
    const [first = '', , third = ''] = toParts('s', 1, 'x'.repeat(20_000));
    expect([collector.add(first), collector.add(third)]).toEqual([null, null]);
    expect(collector.add(toParts('s', 2, 'next')[0] ?? '')).toBe('next');
  });
});
