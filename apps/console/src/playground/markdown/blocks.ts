import { type Inline, parseInline } from './inline.js';

/* The blocks of a text without code fences, which `markdown-writer.ts` takes out first. */

export type Block =
  | { type: 'heading'; level: number; children: Inline[] }
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'rule' }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'list'; start: number | null; items: ListItem[] }
  | { type: 'table'; head: Inline[][]; rows: Inline[][][] };

export interface ListItem {
  children: Inline[];
  blocks: Block[];
}

const maxDepth = 8;

const heading = /^ {0,3}(#{1,6}) (.*)$/;
const listItem = /^( *)(?:[-*+]|(\d{1,9})[.)]) (.*)$/;
const tableRule = /^[ :|-]+$/;

/** Parses lines that hold no code fence. Every line is used, so no text disappears. */
export function parseBlocks(lines: readonly string[], depth = 0): Block[] {
  const blocks: Block[] = [];
  let index = 0;
  while (index < lines.length) {
    const { block, count } = blockAt(lines, index, depth);
    if (block !== null) blocks.push(block);
    index += count;
  }
  return blocks;
}

function blockAt(lines: readonly string[], index: number, depth: number): { block: Block | null; count: number } {
  const line = lines[index] ?? '';
  if (line.trim() === '') return { block: null, count: 1 };
  const title = heading.exec(line);
  if (title !== null) {
    const children = parseInline(title[2] ?? '');
    return { block: { type: 'heading', level: title[1]?.length ?? 1, children }, count: 1 };
  }
  if (isRule(line)) return { block: { type: 'rule' }, count: 1 };
  if (depth < maxDepth) {
    if (line.startsWith('>')) return quoteAt(lines, index, depth);
    if (listItem.test(line)) return listAt(lines, index, depth);
    if (isTable(lines, index)) return tableAt(lines, index);
  }
  return paragraphAt(lines, index, depth);
}

function quoteAt(lines: readonly string[], index: number, depth: number): { block: Block; count: number } {
  const quoted = takeWhile(lines, index, (line) => line.startsWith('>'));
  const inner = quoted.map((line) => line.slice(1).replace(/^ /, ''));
  return { block: { type: 'quote', blocks: parseBlocks(inner, depth + 1) }, count: quoted.length };
}

/** Lines that stand further to the right than a list belong to its last item. */
function listAt(lines: readonly string[], index: number, depth: number): { block: Block; count: number } {
  const [, firstIndent = '', firstNumber] = listItem.exec(lines[index] ?? '') ?? [];
  const items: { text: string; rest: string[] }[] = [];
  let at = index;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const [, indent = '', number, text = ''] = listItem.exec(line) ?? [];
    const isItem = listItem.test(line);
    if (isItem && indent.length <= firstIndent.length + 1) {
      if ((number === undefined) !== (firstNumber === undefined)) break;
      items.push({ text, rest: [] });
    } else if (isItem || /^ {2}/.test(line)) {
      items.at(-1)?.rest.push(line.slice(Math.min(firstIndent.length + 2, line.length - line.trimStart().length)));
    } else {
      break;
    }
  }
  const start = firstNumber === undefined ? null : Number(firstNumber);
  const parsed = items.map(({ text, rest }) => ({
    children: parseInline(text),
    blocks: parseBlocks(rest, depth + 1),
  }));
  return { block: { type: 'list', start, items: parsed }, count: at - index };
}

function isTable(lines: readonly string[], index: number): boolean {
  const next = lines[index + 1];
  return (
    (lines[index] ?? '').includes('|') &&
    next !== undefined &&
    next.includes('|') &&
    next.includes('-') &&
    tableRule.test(next)
  );
}

function tableAt(lines: readonly string[], index: number): { block: Block; count: number } {
  const rows = takeWhile(lines, index, (line) => line.includes('|'));
  const [head = '', , ...body] = rows;
  const block: Block = { type: 'table', head: cellsOf(head), rows: body.map(cellsOf) };
  return { block, count: rows.length };
}

function cellsOf(line: string): Inline[][] {
  const trimmed = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return trimmed.split('|').map((cell) => parseInline(cell.trim()));
}

function paragraphAt(lines: readonly string[], index: number, depth: number): { block: Block; count: number } {
  const first = lines[index] ?? '';
  const rest = takeWhile(lines, index + 1, (line, at) => !beginsBlock(lines, line, at, depth));
  const text = [first, ...rest].map((line) => line.trimStart()).join('\n');
  return { block: { type: 'paragraph', children: parseInline(text.trimEnd()) }, count: rest.length + 1 };
}

function beginsBlock(lines: readonly string[], line: string, index: number, depth: number): boolean {
  if (line.trim() === '' || heading.test(line) || isRule(line)) return true;
  return depth < maxDepth && (line.startsWith('>') || listItem.test(line) || isTable(lines, index));
}

function isRule(line: string): boolean {
  const marks = line.replaceAll(' ', '');
  return marks.length >= 3 && ['-', '*', '_'].some((mark) => marks === mark.repeat(marks.length));
}

function takeWhile(
  lines: readonly string[],
  start: number,
  accepts: (line: string, index: number) => boolean,
): string[] {
  let end = start;
  while (end < lines.length && accepts(lines[end] ?? '', end)) end += 1;
  return lines.slice(start, end);
}
