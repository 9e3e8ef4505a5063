import { type ReasoningFormat, defaultReasoning } from '../contract/reasoning-format.js';
import { ReasoningScanner } from './reasoning-scanner.js';

/** A piece of a model's output and its channel. */
export interface ThinkSegment {
  channel: 'content' | 'reasoning';
  text: string;
}

/**
 * Separates the reasoning blocks in front of an answer from it, in text that arrives in pieces. Delimiters are removed
 * with the white space around them; a piece that may begin one is held back. The result, joined per channel, does not
 * depend on where the pieces were split.
 */
export class ThinkSplitter {
  private readonly scanner: ReasoningScanner;
  private afterTag: boolean;

  constructor({
    startsInside = false,
    format = defaultReasoning,
  }: { startsInside?: boolean; format?: ReasoningFormat } = {}) {
    this.scanner = new ReasoningScanner(format, { startsInside });
    this.afterTag = startsInside;
  }

  get isInside(): boolean {
    return this.scanner.isInside;
  }

  /** True while a possible beginning of a delimiter is held back. */
  get isHolding(): boolean {
    return this.scanner.isHolding;
  }

  push(piece: string): ThinkSegment[] {
    return this.segmentsOf(this.scanner.push(piece));
  }

  /**
   * Returns the held-back text when no more text follows: it was no delimiter. `isCut`: the token limit ended the text, so
   * that it may have become one; then only white space is text.
   */
  flush(isCut = false): ThinkSegment[] {
    const parts = this.scanner.flush();
    return this.segmentsOf(isCut ? parts.filter(({ text }) => text.trim() === '') : parts);
  }

  private segmentsOf(parts: ReturnType<ReasoningScanner['push']>): ThinkSegment[] {
    const segments: ThinkSegment[] = [];
    for (const { kind, text } of parts) {
      if (kind === 'tag') {
        this.afterTag = true;
        continue;
      }
      const visible = this.afterTag ? text.trimStart() : text;
      if (visible === '') continue;
      this.afterTag = false;
      segments.push({ channel: kind === 'answer' ? 'content' : 'reasoning', text: visible });
    }
    return segments;
  }
}
