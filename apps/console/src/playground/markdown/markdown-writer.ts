import { parseBlocks } from './blocks.js';
import { buildBlocks } from './build-nodes.js';
import { Outline } from './outline.js';

/** A paragraph longer than this is closed and continued, so that an append never renders more again. */
const maxOpenLength = 4000;

interface OpenCode {
  /** The fence that ends it. */
  fence: string;
  text: Text;
}

/**
 * Writes Markdown into an element as it arrives. Only the open block is rendered again; closed ones, and code, are
 * never touched, so a long answer costs no more per piece than a short one.
 */
export class MarkdownWriter {
  /** Complete lines of the open block. */
  private lines: string[] = [];
  private openLength = 0;
  /** The last line, while it has no end. */
  private partial = '';
  private openElement: HTMLElement | null = null;
  private code: OpenCode | null = null;
  private readonly outline = new Outline();

  constructor(
    private readonly target: HTMLElement,
    private readonly page: Document,
  ) {}

  append(text: string): void {
    const pieces = text.split('\n');
    const last = pieces.pop() ?? '';
    for (const piece of pieces) {
      this.addLine(this.partial + piece);
      this.partial = '';
    }
    this.partial += last;
    this.renderOpen();
  }

  /** Closes what is open; the text has ended. */
  end(): void {
    if (this.partial !== '') this.addLine(this.partial);
    this.partial = '';
    this.closeBlock();
    this.code = null;
  }

  private addLine(raw: string): void {
    const line = raw.replace(/\r$/, '');
    if (this.code !== null) {
      this.addCodeLine(this.code, line);
      return;
    }
    const fence = fenceOf(line);
    if (fence !== null) {
      this.closeBlock();
      this.code = this.openCode(fence, line);
      return;
    }
    if (line.trim() === '') {
      this.closeBlock();
      return;
    }
    this.lines.push(line);
    this.openLength += line.length;
    if (this.openLength > maxOpenLength) this.closeBlock();
  }

  private addCodeLine(code: OpenCode, line: string): void {
    const isEnd = line.trimStart().startsWith(code.fence) && line.trim().replaceAll(code.fence.charAt(0), '') === '';
    if (isEnd) this.code = null;
    else code.text.appendData(`${line}\n`);
  }

  private openCode(fence: string, line: string): OpenCode {
    const language = line.trim().slice(fence.length).trim();
    const block = this.page.createElement('pre');
    const content = this.page.createElement('code');
    const text = this.page.createTextNode('');
    if (language !== '') block.setAttribute('aria-label', `Code, ${language.slice(0, 40)}`);
    block.setAttribute('tabindex', '0');
    content.append(text);
    block.append(content);
    this.target.append(block);
    return { fence, text };
  }

  private closeBlock(): void {
    if (this.lines.length > 0) this.render(this.lines);
    this.lines = [];
    this.openLength = 0;
    this.openElement = null;
  }

  private renderOpen(): void {
    if (this.code !== null) return;
    if (this.partial.length > maxOpenLength) {
      this.splitPartial();
      return;
    }
    // A line that may become a fence is not shown before it is one.
    const isFence = /^\s*(?:`{1,3}|~{1,3})[^`~]*$/.test(this.partial);
    const lines = this.partial.trim() === '' || isFence ? this.lines : [...this.lines, this.partial];
    if (lines.length > 0) this.render(lines);
  }

  /** One endless line is closed at its last space. */
  private splitPartial(): void {
    const space = this.partial.lastIndexOf(' ');
    const end = space > 0 ? space + 1 : this.partial.length;
    this.lines.push(this.partial.slice(0, end));
    this.partial = this.partial.slice(end);
    this.closeBlock();
  }

  private render(lines: readonly string[]): void {
    if (this.openElement === null) {
      this.openElement = this.page.createElement('div');
      this.target.append(this.openElement);
    }
    this.openElement.replaceChildren(...buildBlocks(this.page, parseBlocks(lines), this.outline));
  }
}

/** Returns the fence that a line begins code with, or null. */
function fenceOf(line: string): string | null {
  const trimmed = line.trimStart();
  const mark = trimmed.charAt(0);
  if (mark !== '`' && mark !== '~') return null;
  let length = 0;
  while (trimmed.charAt(length) === mark) length += 1;
  const rest = trimmed.slice(length);
  // Three backticks around words of one line are code within a text.
  return length < 3 || (mark === '`' && rest.includes('`')) ? null : mark.repeat(length);
}
