/** A piece of a model's output and its channel. */
export interface ThinkSegment {
  channel: 'content' | 'reasoning';
  text: string;
}

const openTag = '<think>';
const closeTag = '</think>';

/**
 * Separates `<think>…</think>` blocks from the response, in text that arrives in pieces. Tags are removed with the
 * white space behind them; a piece that may begin a tag is held back. The result, joined per channel, does not depend
 * on where the pieces were split. A block that is never closed is reasoning to its end.
 */
export class ThinkSplitter {
  private held = '';
  private inside: boolean;
  /** Tags are text. */
  private readonly isOff: boolean;
  private afterTag: boolean;

  constructor({ startsInside = false, hasThinking = true }: { startsInside?: boolean; hasThinking?: boolean } = {}) {
    this.isOff = !hasThinking;
    this.inside = startsInside;
    this.afterTag = startsInside;
  }

  get isInside(): boolean {
    return this.inside;
  }

  /** True while a possible beginning of a tag is held back. */
  get isHolding(): boolean {
    return this.held !== '';
  }

  push(piece: string): ThinkSegment[] {
    if (this.isOff) return piece === '' ? [] : [{ channel: 'content', text: piece }];
    const segments: ThinkSegment[] = [];
    let rest = this.held + piece;
    for (;;) {
      const tag = this.inside ? closeTag : openTag;
      const place = rest.indexOf(tag);
      if (place < 0) break;
      this.add(segments, rest.slice(0, place));
      rest = rest.slice(place + tag.length);
      this.inside = !this.inside;
      this.afterTag = true;
    }
    const held = heldLength(rest, this.inside ? closeTag : openTag);
    this.held = rest.slice(rest.length - held);
    this.add(segments, rest.slice(0, rest.length - held));
    return segments;
  }

  /** Returns the held-back text when no more text follows: it was no tag. */
  flush(): ThinkSegment[] {
    const segments: ThinkSegment[] = [];
    this.add(segments, this.held);
    this.held = '';
    return segments;
  }

  private add(segments: ThinkSegment[], text: string): void {
    const visible = this.afterTag ? text.trimStart() : text;
    if (visible === '') return;
    this.afterTag = false;
    const channel = this.inside ? 'reasoning' : 'content';
    segments.push({ channel, text: visible });
  }
}

/** Returns the length of the longest suffix of `text` that is a prefix of `tag`. */
function heldLength(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}
