/** An added token of a tokenizer, as far as it matters here. */
export interface AddedToken {
  content: string;
  special?: boolean;
}

/** Marks are lone low surrogates: text of callers is well-formed and never holds one. */
const firstMark = 0xdc00;
const maxMarks = 1_024;

const letter = /[\p{L}\p{M}\p{N}_.-]/u;
const blank = /^[\s▁]*$/u;
const pipes = /^<[|｜].*[|｜]>$/su;
const brackets = /^(?:<[^<>]+>|\[[^[\]]+\]|◁[^◁▷]+▷)$/u;

/**
 * The tokens of a vocabulary that are structure of a prompt, and the marks that keep text of callers from becoming one.
 *
 * Structure is what the vocabulary calls special, what is written `<|…|>`, and what is in brackets and named by the chat
 * template or a reader of the output. Other added tokens, such as runs of spaces or HTML tags, are vocabulary of ordinary
 * text. White space is never structure, and neither is an emoji.
 *
 * Marked text has the same length: each character that a control token may begin, contain or end with is replaced by a
 * mark of its own. `unmark` restores the text.
 */
export class ControlTokens {
  readonly contents: ReadonlySet<string>;
  private readonly markOf = new Map<string, string>();
  private readonly characters: string[] = [];
  /** Names between the brackets of control tokens. A template may write the brackets around a caller's word. */
  private readonly innerNames: ReadonlySet<string>;
  /** Characters to mark, and whole tokens without any such character. */
  private readonly pattern: RegExp | null;

  /** `named`: texts that name further structure, such as the source of a chat template. */
  constructor(added: Iterable<AddedToken>, named: readonly string[] = []) {
    const isStructure = ({ content, special = false }: AddedToken): boolean => {
      if (blank.test(content) || ![...content].some((character) => character.length === 1)) return false;
      if (special || pipes.test(content)) return true;
      return brackets.test(content) && named.some((text) => text.includes(content));
    };
    this.contents = new Set([...added].filter(isStructure).map(({ content }) => content));
    this.innerNames = new Set([...this.contents].map(innerName).filter((name) => name !== ''));
    const signs = new Set([...this.contents].flatMap((content) => content.split('').filter(isSign)));
    const plain = [...this.contents].filter((content) => !content.split('').some(isSign));
    for (const sign of signs) this.addMark(sign);
    const wholes = plain.sort((one, other) => other.length - one.length).map(escaped);
    const alternatives = [...(signs.size === 0 ? [] : [`[${[...signs].map(escaped).join('')}]`]), ...wholes];
    this.pattern = alternatives.length === 0 ? null : new RegExp(alternatives.join('|'), 'g');
  }

  /** Returns a caller's text with marks, so that no token of it is structure. Marking it again changes nothing. */
  mark(text: string): string {
    if (this.pattern === null) return text;
    const marked = text.replace(this.pattern, (found) => this.markOf.get(found) ?? this.withMark(found));
    const name = marked.trim();
    return this.innerNames.has(name) ? marked.replace(name, () => this.withMark(name)) : marked;
  }

  /** Marks a text where another of the same length is marked. */
  markLike(text: string, marked: string): string {
    if (text.length !== marked.length) return this.mark(text);
    const characters = text.split('');
    return characters
      .map((character, index) => (this.characterAt(marked, index) === undefined ? character : this.addMark(character)))
      .join('');
  }

  /** Marks all texts of a value, names of members included. */
  markAll<Value>(value: Value): Value {
    return this.markedValue(value) as Value;
  }

  /** Marks a text that the platform composed, but for some control tokens that the platform itself wrote. */
  markExcept(text: string, structure: readonly string[]): string {
    const kept = structure.filter((token) => token !== '');
    if (kept.length === 0) return this.mark(text);
    const pieces = text.split(new RegExp(`(${kept.map(escaped).join('|')})`));
    return pieces.map((piece, index) => (index % 2 === 0 ? this.mark(piece) : piece)).join('');
  }

  unmark(text: string): string {
    if (!isMarked(text)) return text;
    return text.replaceAll(lowSurrogate, (mark) => this.characterAt(mark, 0) ?? mark);
  }

  /** Returns the character that the mark at an index stands for; undefined if there is none. */
  characterAt(text: string, index: number): string | undefined {
    const unit = text.charCodeAt(index);
    if (unit < firstMark || unit >= firstMark + maxMarks || isHigh(text.charCodeAt(index - 1))) return undefined;
    return this.characters[unit - firstMark];
  }

  private markedValue(value: unknown): unknown {
    if (typeof value === 'string') return this.mark(value.toWellFormed());
    if (Array.isArray(value)) return value.map((item) => this.markedValue(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.mark(name.toWellFormed()), this.markedValue(member)]),
    );
  }

  /** Replaces the first character of the basic plane. */
  private withMark(text: string): string {
    const at = text.split('').findIndex((character) => !isSurrogate(character));
    return text.slice(0, at) + this.addMark(text.charAt(at)) + text.slice(at + 1);
  }

  private addMark(character: string): string {
    const known = this.markOf.get(character);
    if (known !== undefined) return known;
    if (this.characters.length === maxMarks) throw new RangeError('too many characters in its control tokens');
    const mark = String.fromCharCode(firstMark + this.characters.length);
    this.characters.push(character);
    this.markOf.set(character, mark);
    return mark;
  }
}

/** A low surrogate that is not the second half of a character. */
const lowSurrogate = /(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Whether a text holds marks. */
export function isMarked(text: string): boolean {
  return !text.isWellFormed();
}

/** JSON writes marks as escapes; returns it with the marks themselves. */
export function restoreEscapedMarks(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replaceAll(/\\(?:u(d[c-f][0-9a-f]{2})|[\s\S])/g, (escape, unit: string | undefined) =>
    unit === undefined ? escape : String.fromCharCode(Number.parseInt(unit, 16)),
  );
}

/** Returns the parts of a text between marks at even indexes, and the marks at odd ones. */
export function splitAtMarks(text: string): string[] {
  return text.split(/((?<![\uD800-\uDBFF])[\uDC00-\uDFFF])/);
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < firstMark;
}

function isSign(character: string): boolean {
  return !letter.test(character) && !blank.test(character) && !isSurrogate(character);
}

function isSurrogate(character: string): boolean {
  return !character.isWellFormed();
}

function innerName(content: string): string {
  const characters = [...content];
  const start = characters.findIndex((character) => letter.test(character));
  const end = characters.findLastIndex((character) => letter.test(character));
  return start < 0 ? '' : characters.slice(start, end + 1).join('');
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
