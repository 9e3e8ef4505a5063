import type { ReasoningFormat } from '../contract/reasoning-format.js';

/** A piece of a model's output. Joined, the pieces are the output. */
export interface ReasoningPart {
  /** `tag`: a delimiter with the white space in front of it. */
  kind: 'tag' | 'reasoning' | 'answer';
  text: string;
}

/**
 * `start`: a block may begin, and only white space came since the beginning or the last block. `opened`: the prompt
 * has opened the block, which some models do once more.
 */
type ScannerState = 'start' | 'opened' | 'inside' | 'answer';

/**
 * Finds the reasoning block in text that arrives in pieces. Blocks are recognized in front of the answer only: behind
 * its first character, a delimiter is text like any other. The kinds of all characters do not depend on where the pieces
 * were split. A block that is never closed is reasoning to its end.
 */
export class ReasoningScanner {
  private held = '';
  private state: ScannerState;

  constructor(
    private readonly format: ReasoningFormat,
    { startsInside }: { startsInside: boolean },
  ) {
    this.state = startsInside ? 'opened' : 'start';
  }

  get isInside(): boolean {
    return this.state === 'inside' || this.state === 'opened';
  }

  /** True while text that may begin a delimiter is held back. */
  get isHolding(): boolean {
    return this.held !== '';
  }

  push(piece: string): ReasoningPart[] {
    const parts: ReasoningPart[] = [];
    let rest = this.held + piece;
    this.held = '';
    while (rest !== '') rest = this.state === 'inside' ? this.inside(parts, rest) : this.front(parts, rest);
    return parts;
  }

  /** Returns the held-back text when no more text follows: it was no delimiter. */
  flush(): ReasoningPart[] {
    const text = this.held;
    this.held = '';
    return text === '' ? [] : [{ kind: this.isInside ? 'reasoning' : 'answer', text }];
  }

  /** Reads in front of a block, or the answer. Returns the unread text; none if it is held back. */
  private front(parts: ReasoningPart[], rest: string): string {
    if (this.state === 'answer') {
      parts.push({ kind: 'answer', text: rest });
      return '';
    }
    const { open, answer } = this.format;
    const begun = rest.trimStart();
    for (const tag of this.state === 'start' && answer !== undefined ? [open, answer] : [open]) {
      if (begun.startsWith(tag)) {
        const end = rest.length - begun.length + tag.length;
        parts.push({ kind: 'tag', text: rest.slice(0, end) });
        this.state = tag === open ? 'inside' : 'answer';
        return rest.slice(end);
      }
    }
    if (open.startsWith(begun) || (this.state === 'start' && answer?.startsWith(begun))) {
      this.held = rest;
      return '';
    }
    this.state = this.state === 'opened' ? 'inside' : 'answer';
    return rest;
  }

  private inside(parts: ReasoningPart[], rest: string): string {
    const { close } = this.format;
    const place = rest.indexOf(close);
    const end = place < 0 ? rest.length - heldLength(rest, close) : place;
    if (end > 0) parts.push({ kind: 'reasoning', text: rest.slice(0, end) });
    if (place < 0) {
      this.held = rest.slice(end);
      return '';
    }
    parts.push({ kind: 'tag', text: close });
    this.state = 'start';
    return rest.slice(end + close.length);
  }
}

/** Returns the length of the longest suffix of `text` that is a proper prefix of `tag`. */
function heldLength(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}
