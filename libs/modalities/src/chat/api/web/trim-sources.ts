import { setImmediate } from 'node:timers/promises';
import { splitIntoPassages } from '#characters';
import type { WebSource } from '../job/web-source.js';
import { cutToBytes, neutralize, roomForContents } from './web-text.js';

/** Of a longer page, only the beginning is read. */
const maxSourceLength = 100_000;
/** Between passages that did not follow one another. */
const gap = '\n...\n';

/** Scores passages by what they have to do with a question; more is better. */
export type ScorePassages = (passages: readonly string[], signal: AbortSignal) => Promise<readonly number[]>;

interface Passage {
  source: number;
  text: string;
  score: number;
  isKept: boolean;
}

/**
 * Shortens sources to the passages that matter where they do not fit into a block of `maxBytes`. Each source keeps its
 * best passage if there is room; the order of sources and passages stays.
 */
export async function trimSources(
  sources: readonly WebSource[],
  { maxBytes, score, signal }: { maxBytes: number; score: ScorePassages; signal: AbortSignal },
): Promise<readonly WebSource[]> {
  // No more bytes fit, and a character takes at least one.
  const maxLength = Math.max(maxSourceLength, maxBytes);
  const room = roomForContents(sources, maxBytes);
  const plain: string[] = [];
  for (const { content } of sources) plain.push(await plainTextOf(content, maxLength));
  const isShort = sources.every(({ content }) => content.length <= maxLength);
  if (isShort && plain.reduce((sum, text) => sum + Buffer.byteLength(text), 0) <= room) return sources;
  const passages: Passage[] = [];
  for (const [source, text] of plain.entries()) {
    for (const part of splitIntoPassages(text)) passages.push({ source, text: part, score: 0, isKept: false });
    await setImmediate();
  }
  const scores = await score(
    passages.map(({ text }) => text),
    signal,
  );
  for (const [index, passage] of passages.entries()) passage.score = scores[index] ?? 0;
  keepBest(passages, room);
  return sources.map((source, index) => ({
    ...source,
    content: joined(passages.filter((passage) => passage.source === index)),
  }));
}

/** The event loop turns after each page, which takes it up to a tenth of a second. */
async function plainTextOf(content: string, maxLength: number): Promise<string> {
  // Some characters are many in their compatibility form.
  const text = cutToBytes(neutralize(content.slice(0, maxLength)), maxLength);
  await setImmediate();
  return text;
}

function keepBest(passages: readonly Passage[], room: number): void {
  // Of equal passages, the earlier one.
  const ranked = passages.toSorted((left, right) => right.score - left.score);
  const isFirst = (passage: Passage) => ranked.find(({ source }) => source === passage.source) === passage;
  let left = room;
  for (const passage of [...ranked.filter(isFirst), ...ranked]) {
    const bytes = Buffer.byteLength(passage.text) + Buffer.byteLength(gap);
    if (passage.isKept || bytes > left) continue;
    passage.isKept = true;
    left -= bytes;
  }
}

/** The kept passages in their order. */
function joined(passages: readonly Passage[]): string {
  let text = '';
  let isAfterGap = false;
  for (const { text: part, isKept } of passages) {
    if (isKept) text += text === '' ? part : `${isAfterGap ? gap : '\n\n'}${part}`;
    isAfterGap = !isKept;
  }
  return text;
}
