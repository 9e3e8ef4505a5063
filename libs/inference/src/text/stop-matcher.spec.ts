import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StopMatcher } from './stop-matcher.js';

/** Feeds the pieces; returns the output and whether a stop string ended it. */
function match(stops: string[], pieces: string[]): { text: string; stopped: boolean } {
  const matcher = new StopMatcher(stops);
  let text = '';
  for (const piece of pieces) {
    const pushed = matcher.push(piece);
    text += pushed.text;
    if (pushed.stopped) return { text, stopped: true };
  }
  return { text: text + matcher.flush(), stopped: false };
}

/**
 * Straightforward reference: the first prefix of the text that ends with a stop string, without the longest such
 * string.
 */
function expected(stops: string[], text: string): { text: string; stopped: boolean } {
  for (let end = 1; end <= text.length; end++) {
    const ending = stops.filter((stop) => stop !== '' && text.slice(0, end).endsWith(stop));
    if (ending.length === 0) continue;
    return { text: text.slice(0, end - Math.max(...ending.map((stop) => stop.length))), stopped: true };
  }
  return { text, stopped: false };
}

describe('StopMatcher', () => {
  it('finds a stop string that spans pieces', () => {
    expect(match(['END'], ['one E', 'N', 'D two'])).toEqual({ text: 'one ', stopped: true });
  });

  it('releases text at once when it can no longer start a stop string', () => {
    const matcher = new StopMatcher(['###']);
    expect(matcher.push('a##')).toEqual({ text: 'a', stopped: false });
    expect(matcher.push('b')).toEqual({ text: '##b', stopped: false });
  });

  it('holds back no more than a possible partial match', () => {
    const matcher = new StopMatcher(['abc', '\n\nUser:']);
    expect(matcher.push('hello ab').text).toBe('hello ');
    expect(matcher.push('d\n').text).toBe('abd');
    expect(matcher.push('\n').text).toBe('');
    expect(matcher.push('x').text).toBe('\n\nx');
  });

  it('returns the held text at the end', () => {
    expect(match(['stop'], ['do not st', 'o'])).toEqual({ text: 'do not sto', stopped: false });
  });

  it('restarts inside a repeated beginning', () => {
    expect(match(['aab'], ['a', 'a', 'a', 'b'])).toEqual({ text: 'a', stopped: true });
  });

  it('names the stop string that ended the text, the longest of those that end together', () => {
    const matcher = new StopMatcher(['c', 'xx', 'bc']);
    expect(matcher.found).toBe(null);
    matcher.push('ab');
    expect(matcher.found).toBe(null);
    matcher.push('c');
    expect(matcher.found).toBe('bc');
  });

  it('ignores empty stop strings', () => {
    expect(match([''], ['text'])).toEqual({ text: 'text', stopped: false });
  });

  it('equals a search in the whole text, however it is split', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 });
    const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 5 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 4 }), pieces, (stops, cut) => {
        expect(match(stops, cut)).toEqual(expected(stops, cut.join('')));
      }),
      { numRuns: 1_000 },
    );
  });
});
