import { describe, expect, it, vi } from 'vitest';
import { countTurns } from '#test/count-turns';
import { scoreByWords } from './passage-words.js';
import { trimSources } from './trim-sources.js';
import type { WebSource } from '../job/web-source.js';
import { writeWebBlock } from './web-text.js';

const { signal } = new AbortController();
const filler = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `Paragraph ${from + index}. ${'Nothing of interest. '.repeat(18)}`);
const page = (...parts: string[]): WebSource => ({
  title: 'Page',
  url: 'https://page.example/',
  content: parts.join('\n\n'),
  date: null,
});
const fact = `High water is at 14:20. ${'The gate closes then. '.repeat(16)}`;
const score = (passages: readonly string[]) => scoreByWords('When is high water?', passages);

describe('sources that do not fit', () => {
  it('are left alone where they do', async () => {
    const never = vi.fn();
    const sources = [page('High water.'), page('Low water.')];
    expect(await trimSources(sources, { maxBytes: 4_000, score: never, signal })).toBe(sources);
    expect(never).not.toHaveBeenCalled();
  });

  it('keep what matters, wherever it stands, in its order', async () => {
    const long = page(...filler(0, 30), fact, ...filler(30, 60));
    const [trimmed] = await trimSources([long], { maxBytes: 3_000, score, signal });
    const content = trimmed?.content ?? '';
    expect(content).toContain('High water is at 14:20.');
    const numbers = [...content.matchAll(/Paragraph (\d+)/g)].map(([, number]) => Number(number));
    expect(numbers.length).toBeGreaterThan(1);
    expect(numbers).toEqual(numbers.toSorted((left, right) => left - right));
    expect(writeWebBlock([trimmed ?? long], 3_000).sources[0]?.content).toBe(content);
  });

  it('are read to a bounded length, and the event loop turns between them', async () => {
    // In its compatibility form, each is 18 characters: 45 million for these pages, which took 2 s without a turn.
    const long = page('\ufdfa'.repeat(500_000));
    const turns = countTurns();
    const begun = process.cpuUsage();
    const trimmed = await trimSources([long, long, long, long, long], { maxBytes: 8_000, score, signal });
    writeWebBlock(trimmed, 8_000);
    const { user } = process.cpuUsage(begun);
    expect(turns()).toBeGreaterThan(8);
    expect(user / 1_000).toBeLessThan(6_000);
    expect(Math.max(...trimmed.map(({ content }) => content.length))).toBeLessThan(8_000);
  });

  it('share the room by what matters, and each keeps something', async () => {
    const relevant = page(...Array.from({ length: 20 }, () => fact));
    const other = page(...filler(0, 20));
    const trimmed = await trimSources([other, relevant, other], { maxBytes: 6_000, score, signal });
    const lengths = trimmed.map(({ content }) => content.length);
    expect(Math.min(...lengths)).toBeGreaterThan(100);
    expect(lengths[1]).toBeGreaterThan((lengths[0] ?? 0) * 3);
    const block = writeWebBlock(trimmed, 6_000);
    expect(block.sources.map(({ content }) => content.length)).toEqual(lengths);
    expect(Buffer.byteLength(block.text)).toBeLessThanOrEqual(6_000);
  });
});
