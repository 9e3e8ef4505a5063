import { allCodePoints, jsonCharacters, utf8Of } from './code-points.js';
import { drained, isSliceOver } from './compile-deadline.js';
import type { Grammar, GrammarNode, GrammarRule } from './grammar.js';
import type { Regex, RegexArena } from './regex.js';

/** Most digits before the point: integers of so many digits are exact in every JSON parser. */
export const maxIntegerDigits = 15;

/** Most digits behind the point. */
export const maxFractionDigits = 24;

const encoder = new TextEncoder();

/** The lexemes of JSON, and the grammar of any value. */
export class JsonGrammar {
  readonly arena: RegexArena;
  /** Characters of a string in every form that JSON allows but lone surrogates. */
  readonly character: Regex;
  /** Characters of a string, each in the one form that `JSON.stringify` gives it. */
  readonly plainCharacter: Regex;
  /** White space behind a colon or comma: none or one blank. More would only cost tokens, and weak models never end it. */
  readonly space: Regex;
  private anyRule: GrammarRule | null = null;

  constructor(readonly grammar: Grammar) {
    const { arena } = grammar;
    this.arena = arena;
    this.plainCharacter = jsonCharacters(arena, allCodePoints);
    this.character = this.characterOf();
    this.space = arena.optional(arena.text(' '));
  }

  /** A string whose characters are `content`, already as JSON writes them. */
  quoted(content: Regex): Regex {
    return this.arena.concat(this.arena.text('"'), content, this.arena.text('"'));
  }

  anyString(): Regex {
    return this.quoted(this.arena.star(this.character));
  }

  number(): Regex {
    const { arena } = this;
    const fraction = arena.concat(arena.text('.'), arena.repeat(this.digit(), 1, maxFractionDigits));
    // Up to 10^289, so that no number is beyond a double.
    const upTo289 = arena.or(
      arena.concat(arena.optional(arena.text('1')), arena.repeat(this.digit(), 1, 2)),
      arena.concat(arena.text('2'), arena.optional(this.digit('0', '8')), this.digit()),
    );
    const exponent = arena.concat(letters(arena, 'eE'), arena.optional(letters(arena, '+-')), upTo289);
    return arena.concat(this.integer(), arena.optional(fraction), arena.optional(exponent));
  }

  integer(): Regex {
    const { arena } = this;
    const more = arena.repeat(this.digit(), 0, maxIntegerDigits - 1);
    const digits = arena.or(arena.text('0'), arena.concat(this.digit('1', '9'), more));
    return arena.concat(arena.optional(arena.text('-')), digits);
  }

  digit(from = '0', to = '9'): Regex {
    return this.arena.byteRange(from.charCodeAt(0), to.charCodeAt(0));
  }

  /** One of the texts; shared beginnings are read once. */
  oneOf(texts: readonly string[]): Regex {
    return drained(this.listed(texts));
  }

  /** As `oneOf`, as work that yields when its slice is over. */
  *listed(texts: readonly string[]): Generator<void, Regex> {
    const encoded: Uint8Array[] = [];
    for (const text of texts) {
      if (isSliceOver(1 + text.length / 256)) yield;
      encoded.push(encoder.encode(text));
    }
    return yield* this.oneOfBytes(encoded);
  }

  /** A name of an object that the schema lists, with the colon and the space behind it. */
  name(name: Regex): GrammarNode {
    return this.grammar.lexeme(this.arena.concat(name, this.colon()));
  }

  /** A name that it does not list; `isListed` where there may be few of them. No name comes twice in one object. */
  openName(name: Regex, { isListed }: { isListed: boolean }): GrammarNode {
    const { grammar } = this;
    const mark = grammar.mark(isListed ? 'listed-name' : 'name');
    return grammar.sequence(grammar.lexeme(name), mark, grammar.lexeme(this.colon()));
  }

  /** An object of these members, some of whose names are not listed. */
  openObject(members: GrammarNode): GrammarNode {
    return this.enclosed('{', this.grammar.sequence(members, this.grammar.mark('object')), '}');
  }

  /** A string of a list in which none comes twice, with its quotes. Where there may be few, each has one form alone. */
  distinctString(text: Regex): GrammarNode {
    const { grammar, arena } = this;
    if (text === this.anyString()) return grammar.sequence(grammar.lexeme(text), grammar.mark('name'));
    const plain = arena.and(text, this.quoted(arena.star(this.plainCharacter)));
    return grammar.sequence(grammar.lexeme(plain), grammar.mark('listed-name'));
  }

  /** Another item of such a list. */
  distinctItem(item: GrammarNode): GrammarNode {
    return this.grammar.sequence(item, this.grammar.mark('item'));
  }

  distinctList(items: GrammarNode): GrammarNode {
    return this.enclosed('[', this.grammar.sequence(items, this.grammar.mark('object')), ']');
  }

  private colon(): Regex {
    return this.arena.concat(this.arena.text(':'), this.space);
  }

  /** What stands between two members or items. */
  comma(): Regex {
    return this.arena.concat(this.arena.text(','), this.space);
  }

  anyObject(): GrammarNode {
    const name = this.openName(this.anyString(), { isListed: false });
    return this.openObject(this.list(this.grammar.sequence(name, this.anyValue())));
  }

  anyArray(): GrammarNode {
    return this.enclosed('[', this.list(this.anyValue()), ']');
  }

  anyValue(): GrammarNode {
    if (this.anyRule !== null) return this.anyRule;
    const rule = this.grammar.rule('');
    this.anyRule = rule;
    const scalar = this.arena.or(this.anyString(), this.number(), this.oneOf(['true', 'false', 'null']));
    rule.body = this.grammar.choice(this.grammar.lexeme(scalar), this.anyObject(), this.anyArray());
    return rule;
  }

  /** `content` between brackets, without space inside of them. */
  enclosed(opening: string, content: GrammarNode, closing: string): GrammarNode {
    const { grammar } = this;
    return grammar.sequence(grammar.text(opening), content, grammar.text(closing));
  }

  /** Any number of items with commas between. */
  private list(item: GrammarNode): GrammarNode {
    const { grammar } = this;
    const more = grammar.repeat(grammar.sequence(grammar.lexeme(this.comma()), item), 0, Infinity);
    return grammar.choice(grammar.epsilon, grammar.sequence(item, more));
  }

  private *oneOfBytes(texts: readonly Uint8Array[]): Generator<void, Regex> {
    const { arena } = this;
    const [only] = texts;
    if (texts.length === 1 && only !== undefined) return arena.literal(only);
    const shared = yield* sharedLength(texts);
    if (shared > 0 && only !== undefined) {
      const rests: Uint8Array[] = [];
      for (const text of texts) {
        if (isSliceOver()) yield;
        rests.push(text.subarray(shared));
      }
      const beginning = Array.from(only.subarray(0, shared), (byte) => arena.byte(byte));
      return yield* arena.chain([...beginning, yield* this.oneOfBytes(rests)]);
    }
    const byFirst = new Map<number | undefined, Uint8Array[]>();
    for (const text of texts) {
      if (isSliceOver()) yield;
      const group = byFirst.get(text[0]);
      if (group === undefined) byFirst.set(text[0], [text.subarray(1)]);
      else group.push(text.subarray(1));
    }
    const groups: Regex[] = [];
    for (const [first, rests] of byFirst) {
      groups.push(first === undefined ? arena.epsilon : arena.concat(arena.byte(first), yield* this.oneOfBytes(rests)));
    }
    return arena.anyOf(groups);
  }

  /** White space around a document: none, one blank or one new line. Indentation there would only cost tokens. */
  around(): Regex {
    const { arena } = this;
    const newLine = arena.concat(arena.optional(arena.text('\r')), arena.text('\n'));
    return arena.or(arena.epsilon, arena.text(' '), newLine);
  }

  private characterOf(): Regex {
    const { arena } = this;
    const raw = utf8Of(arena, [
      [0x20, 0x21],
      [0x23, 0x5b],
      [0x5d, 0x10ffff],
    ]);
    const hex = letters(arena, '0123456789abcdefABCDEF');
    const simple = letters(arena, '"\\/bfnrt');
    const outsideSurrogates = arena.or(
      arena.concat(letters(arena, '0123456789abcefABCEF'), hex, hex, hex),
      arena.concat(letters(arena, 'dD'), letters(arena, '01234567'), hex, hex),
    );
    const pair = arena.concat(
      letters(arena, 'dD'),
      letters(arena, '89abAB'),
      hex,
      hex,
      arena.text('\\u'),
      letters(arena, 'dD'),
      letters(arena, 'cdefCDEF'),
      hex,
      hex,
    );
    const coded = arena.concat(arena.text('u'), arena.or(outsideSurrogates, pair));
    return arena.or(raw, arena.concat(arena.text('\\'), arena.or(simple, coded)));
  }
}

export function letters(arena: RegexArena, characters: string): Regex {
  const codes = new Set([...characters].map((character) => character.charCodeAt(0)));
  return arena.byteSet((byte) => codes.has(byte));
}

/** Bytes that all texts begin with. */
function* sharedLength(texts: readonly Uint8Array[]): Generator<void, number> {
  const [first] = texts;
  if (first === undefined || texts.length < 2) return 0;
  let shared = first.length;
  for (const text of texts) {
    if (isSliceOver(1 + shared / 16)) yield;
    shared = Math.min(shared, text.length);
    for (let index = 0; index < shared; index++) if (text[index] !== first[index]) shared = index;
    if (shared === 0) return 0;
  }
  return shared;
}
