import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ThinkSplitter } from './think-splitter.js';

function split(pieces: string[], startsInside = false): { content: string; reasoning: string } {
  const splitter = new ThinkSplitter({ startsInside });
  const segments = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.flush()];
  const join = (channel: string) =>
    segments
      .filter((segment) => segment.channel === channel)
      .map(({ text }) => text)
      .join('');
  return { content: join('content'), reasoning: join('reasoning') };
}

describe('ThinkSplitter', () => {
  it('puts a block on the reasoning channel and drops tags and the white space behind them', () => {
    expect(split(['<think>\nlet me see\n</think>\n\nYes.'])).toEqual({ content: 'Yes.', reasoning: 'let me see\n' });
  });

  it('recognizes tags that arrive in pieces', () => {
    expect(split(['<th', 'ink', '>a</', 'think', '>b'])).toEqual({ content: 'b', reasoning: 'a' });
  });

  it('keeps text that only looks like a tag', () => {
    expect(split(['a <thi', 'ng> b <'])).toEqual({ content: 'a <thing> b <', reasoning: '' });
  });

  it('drops what begins a tag, but no white space, where the token limit cut it', () => {
    for (const [text, rest] of [
      ['<thi', []],
      ['<think>a</thi', []],
      ['\n ', [{ channel: 'content', text: '\n ' }]],
    ] as const) {
      const splitter = new ThinkSplitter();
      splitter.push(text);
      expect(splitter.flush(true)).toEqual(rest);
    }
  });

  it('starts inside the block when the prompt opened it', () => {
    expect(split(['hm', '</think>', ' ok'], true)).toEqual({ content: 'ok', reasoning: 'hm' });
  });

  it('treats an unclosed block as reasoning to its end', () => {
    expect(split(['<think>never done </thin'])).toEqual({ content: '', reasoning: 'never done </thin' });
  });

  it('takes a tag behind the beginning of the answer as text', () => {
    expect(split(['Use <think>x</think>.'])).toEqual({ content: 'Use <think>x</think>.', reasoning: '' });
    expect(split(['<think>a</think>"<think>"'])).toEqual({ content: '"<think>"', reasoning: 'a' });
  });

  it('reads a block that follows another', () => {
    expect(split(['<think>a</think>\n<think>b</think>c'])).toEqual({ content: 'c', reasoning: 'ab' });
  });

  it('drops the tag of a model that opens the block that its prompt has opened', () => {
    expect(split(['\n<thi', 'nk>a</think>b'], true)).toEqual({ content: 'b', reasoning: 'a' });
  });

  it('emits nothing for an empty block', () => {
    expect(split(['<think>\n\n</think>\n\nHi'])).toEqual({ content: 'Hi', reasoning: '' });
  });

  it('does not depend on where the pieces are split', () => {
    const part = fc.constantFrom('<think>', '</think>', '<th', '</', 'think>', ' ', '\n', 'a', '水', '🌊');
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), cuts, fc.boolean(), (parts, places, startsInside) => {
        const text = parts.join('');
        const borders = [...new Set(places.map((place) => Math.min(place, text.length)))].sort((a, b) => a - b);
        const pieces = [...borders, text.length].map((end, index) => text.slice(borders[index - 1] ?? 0, end));
        expect(pieces.join('')).toBe(text);
        expect(split(pieces, startsInside)).toEqual(split([text], startsInside));
      }),
      { numRuns: 1_000 },
    );
  });
});
