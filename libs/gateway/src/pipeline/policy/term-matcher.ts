/** Letters, digits and marks; everything between them is ignored, as between the words of a term. */
const words = /[\p{L}\p{N}\p{M}]+/gu;
const letters = /[\p{L}\p{N}]\p{M}*/gu;

/** Languages that are written without spaces: a term is found inside of a word. */
const unspaced = new Set(['zh', 'ja', 'th', 'lo', 'km', 'my', 'yue', 'wuu']);
/** Languages whose lower case differs from the common one. */
const ownCase = new Set(['tr', 'az', 'lt']);

/** How texts are compared with terms of some languages. */
interface Spelling {
  pieces: RegExp;
  locale: string;
}

interface TrieNode {
  next: Map<string, TrieNode>;
  /** Languages of the term that ends here; empty if no term does. */
  languages: Set<string>;
}

function newNode(): TrieNode {
  return { next: new Map(), languages: new Set() };
}

function spellingOf(language: string): Spelling {
  const primary = language.split('-', 1)[0] ?? language;
  return { pieces: unspaced.has(primary) ? letters : words, locale: ownCase.has(primary) ? primary : 'en' };
}

function* split(text: string, { pieces, locale }: Spelling): Generator<string> {
  for (const [piece] of text.normalize('NFKC').toLocaleLowerCase(locale).matchAll(pieces)) yield piece;
}

/**
 * Finds terms in texts: whole words, or parts of words in languages without spaces, whatever their case, width and
 * punctuation. The time grows with the text and not with the number of terms.
 */
export class TermMatcher {
  /** One trie for all languages of a spelling, so that a text is read once for each. */
  private readonly tries = new Map<string, { spelling: Spelling; root: TrieNode }>();

  /** Languages that have terms. */
  readonly languages: readonly string[];

  /** `terms` by language. */
  constructor(terms: Readonly<Record<string, readonly string[]>>) {
    this.languages = Object.keys(terms);
    for (const [language, list] of Object.entries(terms)) {
      const spelling = spellingOf(language);
      const name = `${spelling.pieces.source} ${spelling.locale}`;
      const trie = this.tries.get(name) ?? { spelling, root: newNode() };
      this.tries.set(name, trie);
      for (const term of list) add(trie.root, [...split(term, spelling)], language);
    }
  }

  /** Returns the language of the first term in the text; null without one. */
  find(text: string): string | null {
    for (const language of this.found(text)) return language;
    return null;
  }

  /** Returns the languages of all terms in the text. */
  findAll(text: string): Set<string> {
    return new Set(this.found(text));
  }

  private *found(text: string): Generator<string> {
    for (const { spelling, root } of this.tries.values()) {
      let open: TrieNode[] = [];
      for (const piece of split(text, spelling)) {
        open = [root, ...open].map(({ next }) => next.get(piece)).filter((node) => node !== undefined);
        for (const { languages } of open) yield* languages;
      }
    }
  }
}

function add(root: TrieNode, pieces: readonly string[], language: string): void {
  if (pieces.length === 0) return;
  let node = root;
  for (const piece of pieces) {
    const next = node.next.get(piece) ?? newNode();
    node.next.set(piece, next);
    node = next;
  }
  node.languages.add(language);
}
