import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PartCollector, tooLarge, toParts } from './text-parts.js';

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
        const collector = new PartCollector(1_000_000);
        const whole = parts.map((part) => collector.add(part));
        expect(whole.at(-1)).toBe(value);
        expect(whole.slice(0, -1).every((part) => part === null)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('of a text with a missing part are never delivered', () => {
    const collector = new PartCollector(1_000_000);
    const [first = '', , third = ''] = toParts('s', 1, 'x'.repeat(20_000));
    expect([collector.add(first), collector.add(third)]).toEqual([null, null]);
    expect(collector.add(toParts('s', 2, 'next')[0] ?? '')).toBe('next');
  });

  it('of texts that are too long are not collected, whatever their sender says', () => {
    const collector = new PartCollector(30_000);
    const collected = () => JSON.stringify(collector).length;
    const large = toParts('s', 1, 'x'.repeat(100_000));
    expect(large.map((part) => collector.add(part)).filter(Boolean)).toEqual([tooLarge]);
    const endless = (index: number) => `e.1.${index}/3:${'y'.repeat(7_000)}`;
    for (let index = 0; index < 100; index += 1) collector.add(endless(index));
    // The first parts of many texts, none of which is ever completed.
    for (let number = 0; number < 100; number += 1) collector.add(`s${number}.1.0/3:${'z'.repeat(7_000)}`);
    expect(collected()).toBeLessThan(30_000);
    const small = toParts('honest', 1, 'h'.repeat(20_000));
    expect(small.map((part) => collector.add(part)).at(-1)).toBe('h'.repeat(20_000));
  });
});
