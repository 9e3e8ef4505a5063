import { type ControlTokens, isMarked } from './control-tokens.js';

/** Splits a text at added tokens, as the library's own splitter does. */
export interface TextSplitter {
  split(text: string): string[];
}

interface Node {
  next: Map<string, Node>;
  token: string | null;
}

/**
 * Splits marked text at added tokens: at the longest at each position, from left to right. A control token with a mark
 * in it is text. The pieces between tokens keep their marks, but for those that the library will know as other tokens.
 */
export class TokenSplitter implements TextSplitter {
  private readonly root: Node = newNode();
  /** Finds the first character that may begin a token without marks. */
  private readonly starts: RegExp;

  constructor(
    tokens: Iterable<string>,
    private readonly options: {
      control: ControlTokens;
      /** Which of the tokens are control tokens, in the form in which they are looked for. */
      contents: ReadonlySet<string>;
      /** All other added tokens, in every form. */
      ordinary: ReadonlySet<string>;
      /** Splits texts without marks. */
      library: TextSplitter;
    },
  ) {
    for (const token of tokens) if (token !== '') this.add(token);
    const starts = [...this.root.next.keys()].map((character) => character.charCodeAt(0).toString(16).padStart(4, '0'));
    this.starts = starts.length === 0 ? /(?!)/ : new RegExp(`[${starts.map((unit) => `\\u${unit}`).join('')}]`);
  }

  split(text: string): string[] {
    // Most texts have no marks, and the library is faster.
    if (!isMarked(text)) return this.options.library.split(text);
    const pieces: string[] = [];
    let start = 0;
    for (let index = 0; index < text.length;) {
      const token = this.longestAt(text, index);
      if (token === null) {
        index++;
        continue;
      }
      if (index > start) pieces.push(this.piece(text.slice(start, index)));
      pieces.push(token);
      index += token.length;
      start = index;
    }
    if (start < text.length) pieces.push(this.piece(text.slice(start)));
    return pieces;
  }

  /** Counts the tokens in a text. */
  count(text: string): number {
    let count = 0;
    for (let index = text.search(this.starts); index >= 0 && index < text.length;) {
      const token = this.longestAt(text, index);
      if (token !== null) count++;
      index += token?.length ?? 1;
    }
    return count;
  }

  private piece(text: string): string {
    const plain = this.options.control.unmark(text);
    return this.options.ordinary.has(plain) ? plain : text;
  }

  private longestAt(text: string, index: number): string | null {
    let longest: string | null = null;
    let hasMark = false;
    let node: Node | undefined = this.root;
    for (let at = index; at < text.length; at++) {
      const character = this.options.control.characterAt(text, at);
      hasMark ||= character !== undefined;
      node = node.next.get(character ?? text.charAt(at));
      if (node === undefined) break;
      if (node.token !== null && !(hasMark && this.options.contents.has(node.token))) longest = node.token;
    }
    return longest;
  }

  private add(token: string): void {
    let node = this.root;
    for (const character of token.split('')) {
      let next = node.next.get(character);
      if (next === undefined) node.next.set(character, (next = newNode()));
      node = next;
    }
    node.token = token;
  }
}

function newNode(): Node {
  return { next: new Map(), token: null };
}
