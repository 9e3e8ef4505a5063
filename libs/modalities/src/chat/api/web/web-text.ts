import type { WebSource } from '../job/web-source.js';

const maxTitleLength = 200;
const maxUrlLength = 500;
/** Bytes around the sources, and around each. */
const aroundAll = 64;
const aroundSource = 64;
/** A shorter beginning of a text says nothing. */
const minContentLength = 40;

/**
 * Makes text of a page harmless as text of a prompt. Tags become lookalikes, so that it cannot close the block that it
 * stands in, and holds no control token of a chat template, no reasoning block and no tool call; bracketed markers of
 * templates and of citations lose their brackets.
 */
export function neutralize(text: string): string {
  return (
    text
      // Compatibility forms first: a fullwidth bracket would otherwise become a real one later.
      .normalize('NFKC')
      // Invisible characters, but for the two that join letters.
      .replaceAll(/(?![\u200c\u200d])[\p{Cf}\p{Co}\p{Cn}]/gu, '')
      .replaceAll(/[^\P{Cc}\n\t]/gu, ' ')
      .replaceAll('<', '‹')
      .replaceAll('>', '›')
      .replaceAll(/\[(\/?[A-Za-z_]+)\]/g, '($1)')
      .replaceAll(/[\u2581\u2028\u2029]/g, ' ')
      .replaceAll(/[ \t]+/g, ' ')
      .replaceAll(/ ?\n ?/g, '\n')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim()
  );
}

function oneLine(text: string, maxLength: number): string {
  return neutralize(text).replaceAll(/\s+/g, ' ').replaceAll('"', "'").slice(0, maxLength);
}

/** Cuts a text to a number of bytes, at the end of a character. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = Math.max(0, maxBytes);
  // Continuation bytes begin with 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}

function opening({ title, url, date }: WebSource, index: number): string {
  const members = [
    `index="${index}"`,
    `title="${oneLine(title, maxTitleLength)}"`,
    `url="${oneLine(url, maxUrlLength)}"`,
    ...(date === null ? [] : [`date="${oneLine(date, 40)}"`]),
  ];
  return `<web_source ${members.join(' ')}>`;
}

/** The sources that fit, with the part of their text that does, and the block of the prompt that holds them. */
export interface WebBlock {
  text: string;
  sources: WebSource[];
}

/** Bytes that a block has for the texts of its sources. */
export function roomForContents(sources: readonly WebSource[], maxBytes: number): number {
  const around = sources.reduce((sum, source, index) => sum + frameBytes(source, index), aroundAll);
  return Math.max(0, maxBytes - around);
}

function frameBytes(source: WebSource, index: number): number {
  return Buffer.byteLength(opening(source, index)) + aroundSource;
}

/**
 * Writes sources as one block of at most `maxBytes`. Each gets at least an equal share of the bytes that the ones before
 * left, and what the later ones do not need; those without room are left out, the last ones first.
 */
export function writeWebBlock(sources: readonly WebSource[], maxBytes: number): WebBlock {
  const kept: WebSource[] = [];
  const written: string[] = [];
  const texts = sources.map(({ content }) => neutralize(content));
  const needs = sources.map((source, index) => frameBytes(source, index) + Buffer.byteLength(texts[index] ?? ''));
  let left = maxBytes - aroundAll;
  for (const [position, source] of sources.entries()) {
    const text = texts[position] ?? '';
    const start = opening(source, kept.length);
    const later = needs.slice(position + 1).reduce((sum, bytes) => sum + bytes, 0);
    const most = Math.max(Math.floor(left / (sources.length - position)), left - later);
    const content = cutToBytes(text, most - Buffer.byteLength(start) - aroundSource);
    if (content.length < minContentLength && content !== text) continue;
    const block = `${start}\n${content}\n</web_source>`;
    written.push(block);
    kept.push({ ...source, content });
    left -= Buffer.byteLength(block) + 1;
  }
  if (kept.length === 0) return { text: '', sources: [] };
  return { text: `<web_sources>\n${written.join('\n')}\n</web_sources>`, sources: kept };
}
