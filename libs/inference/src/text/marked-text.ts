import type { Tokenizer } from '@huggingface/tokenizers';
import { type ControlTokens, isMarked, splitAtMarks } from './control-tokens.js';
import { type TextSplitter, TokenSplitter } from './token-splitter.js';

/** Members of the library's tokenizer used here, which its types do not expose. */
interface OpenTokenizer {
  splitter_unnormalized: TextSplitter;
  splitter_normalized: TextSplitter;
  normalizer: ((text: string) => string) | null;
  pre_tokenizer: ((text: string, options: unknown) => string[]) | null;
  model: {
    encode(words: string[]): string[];
    /** Encodes words, and joins the texts of unknown tokens that follow each other. */
    _call(words: string[]): string[];
    unk_token?: string;
    /** Pieces of a unigram model. */
    trie?: { root: TrieNode };
  };
}

interface TrieNode {
  is_leaf: boolean;
  children: ReadonlyMap<string, TrieNode>;
}

/**
 * Makes the library's tokenizer read marked text: no control token comes of a part that holds a mark. Text without marks
 * has the tokens that it had before, and so has marked text without the text of a control token. To be called when the
 * pre-tokenizer is final.
 */
export function readMarkedText(tokenizer: Tokenizer, control: ControlTokens): void {
  if (control.contents.size > 0) new MarkedTextReader(tokenizer as unknown as OpenTokenizer, control, tokenizer);
}

class MarkedTextReader {
  private readonly normalize: (text: string) => string;
  private readonly preTokenize: (text: string, options: unknown) => string[];
  private readonly encodeWords: (words: string[]) => string[];
  private readonly callModel: (words: string[]) => string[];
  /** Finds control tokens in normalized text. */
  private readonly finder: TokenSplitter;
  private readonly keepsMarks: boolean;
  /** Whether the words that the model encodes next are of marked text. */
  private isFromMarked = false;

  constructor(
    private readonly open: OpenTokenizer,
    private readonly control: ControlTokens,
    tokenizer: Tokenizer,
  ) {
    const { normalizer, pre_tokenizer: preTokenizer, model } = open;
    this.normalize = normalizer ?? ((text) => text);
    this.preTokenize = preTokenizer ?? ((text) => [text]);
    this.encodeWords = model.encode.bind(model);
    this.callModel = model._call.bind(model);
    this.keepsMarks = this.normalize('a\uDC00b').includes('\uDC00');
    const added = [...tokenizer.get_added_tokens_decoder().values()];
    const isLate = (token: { normalized: boolean }): boolean => token.normalized && normalizer !== null;
    const plain = added.filter((token) => !isLate(token)).map(({ content }) => content);
    const normalized = added.filter(isLate).map(({ content }) => this.normalize(content));
    const contents = this.inBothForms(control.contents);
    const ordinary = this.inBothForms(added.map(({ content }) => content).filter((content) => !contents.has(content)));
    const splitter = (tokens: Iterable<string>, library: TextSplitter) =>
      new TokenSplitter(tokens, { control, contents, ordinary, library });
    this.finder = splitter(contents, { split: (text) => [text] });
    open.splitter_unnormalized = splitter(plain, open.splitter_unnormalized);
    open.splitter_normalized = splitter(normalized, open.splitter_normalized);
    open.normalizer = (text) => this.normalized(text);
    open.pre_tokenizer = (text, options) => this.words(text, options);
    model.encode = (words) => (this.isFromMarked ? this.encodeMarked(words) : this.encodeWords(words));
    model._call = (words) => this.tokens(words);
    this.forgetPieces();
  }

  private inBothForms(contents: Iterable<string>): Set<string> {
    return new Set([...contents].flatMap((content) => [content, this.normalize(content)]));
  }

  private normalized(text: string): string {
    const hasMarks = isMarked(text);
    const plain = this.normalize(this.control.unmark(text));
    // Without marks it has exactly the tokens of unmarked text.
    if (hasMarks ? this.finder.count(plain) === 0 : !/[^\0-\x7f]/.test(text)) return plain;
    const result = hasMarks ? this.normalizedMarked(text) : plain;
    // A token that the normalizer made of other characters is no structure.
    return this.finder.count(result) > this.finder.count(text) ? this.control.mark(result) : result;
  }

  private normalizedMarked(text: string): string {
    if (this.keepsMarks) return this.normalize(text);
    return splitAtMarks(text)
      .map((piece, index) => (index % 2 === 0 ? this.normalizedPiece(piece) : piece))
      .join('');
  }

  private normalizedPiece(piece: string): string {
    return piece === '' ? '' : this.normalize(piece);
  }

  private words(text: string, options: unknown): string[] {
    this.isFromMarked = isMarked(text);
    return this.preTokenize(this.control.unmark(text), options);
  }

  /** Joined texts of unknown tokens are unknown, whatever they spell. */
  private tokens(words: string[]): string[] {
    const tokens = this.callModel(words);
    const unknown = this.open.model.unk_token;
    if (!this.isFromMarked || unknown === undefined) return tokens;
    return tokens.map((token) => (this.control.contents.has(token) ? unknown : token));
  }

  private encodeMarked(words: readonly string[]): string[] {
    return words.flatMap((word) => this.encodeWord(word));
  }

  /** A vocabulary may hold a control token as a word or piece of its own: such a word is encoded in parts. */
  private encodeWord(word: string): string[] {
    let parts = [word];
    for (;;) {
      const tokens = this.encodeWords(parts);
      const found = tokens.find((token) => token !== this.open.model.unk_token && this.control.contents.has(token));
      if (found === undefined) return tokens;
      const next = parts.flatMap((part) => partsAt(part, found));
      if (next.length === parts.length) return tokens;
      parts = next;
    }
  }

  /** SentencePiece never finds control tokens in a text, but this format does not say which of its pieces they are. */
  private forgetPieces(): void {
    const { trie } = this.open.model;
    if (trie === undefined) return;
    for (const content of this.control.contents) {
      let node: TrieNode | undefined = trie.root;
      for (const character of content) node = node?.children.get(character);
      if (node !== undefined) node.is_leaf = false;
    }
  }
}

/** Cuts a word behind the first character of each occurrence of a token. */
function partsAt(word: string, token: string): string[] {
  if (token.length < 2) return [word];
  const [first = '', ...rest] = word.split(token);
  const parts: string[] = [];
  let open = first;
  for (const piece of rest) {
    parts.push(open + token.charAt(0));
    open = token.slice(1) + piece;
  }
  return [...parts, open];
}
