import type { Syntax } from './parse-expression.js';

/** A state is a character of the expression, or one of those before it matches. Transitions are labelled by their end. */
export interface Automaton {
  /** Ends of the transitions of each state, with the number of ways to get there without a character (1, or 2 for more). */
  readonly ends: ReadonlyMap<number, number>[];
  /** Symbols that lead into each state. */
  readonly symbols: ReadonlySet<number>[];
  /** A character of each symbol. */
  readonly characters: readonly string[];
  /** States after which the expression has matched, whatever follows. */
  readonly accepting: ReadonlySet<number>;
}

export const startState = 0;
/** Where a search stands that has not begun to match: after another character, and after the end of a line. */
const searchState = 1;
const lineState = 2;
const firstPosition = 3;

/** A repeat of one character up to this count is written out; others count as endless. */
const maxCopies = 512;

/** Flags of a way through a part without a character: it needs the beginning of the text, or something of what follows. */
const atStart = 1;
const asserts = 2;

/** Ways into or out of a part, by position: without a condition and with one. */
type Ways = Map<number, readonly [free: number, conditional: number]>;

interface Part {
  first: Ways;
  last: Ways;
  /** Numbers of ways through the part without a character, by flags. */
  empty: readonly number[];
}

/** Why an expression cannot be examined. */
export class Unprovable extends Error {}

export function buildAutomaton(syntax: Syntax, flags: string): Automaton {
  return new Builder(flags).build(syntax);
}

class Builder {
  private readonly sets: string[] = ['[^]', '[^\\n\\r\\u2028\\u2029]', '[\\n\\r\\u2028\\u2029]'];
  private readonly ends: Map<number, number>[] = [new Map(), new Map(), new Map()];

  constructor(private readonly flags: string) {}

  build(syntax: Syntax): Automaton {
    const { first, last } = this.part(syntax);
    const isMultiline = this.flags.includes('m');
    for (const from of [startState, searchState, lineState]) {
      this.connect(from, searchState, 1);
      this.connect(from, lineState, 1);
      const isAtStart = from === startState || (isMultiline && from === lineState);
      for (const [to, [free, guarded]] of first) this.connect(from, to, isAtStart ? free + guarded : free);
    }
    const { symbols, characters } = this.alphabet();
    const accepting = new Set([...last].filter(([, [free]]) => free > 0).map(([position]) => position));
    return { ends: this.ends, symbols, characters, accepting };
  }

  private connect(from: number, to: number, ways: number): void {
    if (ways === 0) return;
    const ends = this.ends[from];
    ends?.set(to, Math.min(2, (ends.get(to) ?? 0) + ways));
  }

  private part(syntax: Syntax): Part {
    switch (syntax.kind) {
      case 'set':
        return this.character(syntax.source);
      case 'sequence':
        return syntax.items.map((item) => this.part(item)).reduce((left, right) => this.joined(left, right), nothing());
      case 'choice':
        return syntax.items.map((item) => this.part(item)).reduce(either);
      case 'repeat':
        return this.repeated(syntax);
      case 'start':
        return { first: new Map(), last: new Map(), empty: emptyWay(atStart) };
      case 'assertion': {
        // What a lookahead reads is read once more each time; its end is never the end of the expression.
        const first = syntax.body === null ? new Map() : this.part(syntax.body).first;
        return { first, last: new Map(), empty: emptyWay(asserts) };
      }
      case 'behind':
        if (!Number.isFinite(lengthOf(syntax.body))) throw new Unprovable('a lookbehind has no longest match');
        return { first: new Map(), last: new Map(), empty: emptyWay(asserts) };
      case 'reference':
        throw new Unprovable('it refers to a group');
    }
  }

  private character(source: string): Part {
    const position = this.sets.push(source) - 1;
    this.ends.push(new Map());
    const ways: Ways = new Map([[position, [1, 0]]]);
    return { first: ways, last: new Map(ways), empty: [0, 0, 0, 0] };
  }

  private joined(left: Part, right: Part): Part {
    const isMultiline = this.flags.includes('m');
    for (const [from, [free, guarded]] of left.last) {
      for (const [to, [plain, ofStart]] of right.first) {
        this.connect(from, to, (free + guarded) * (isMultiline ? plain + ofStart : plain));
      }
    }
    const first: Ways = new Map(left.first);
    const last: Ways = new Map(right.last);
    for (const [flags, ways] of left.empty.entries()) addAll(first, right.first, ways, (flags & atStart) > 0);
    for (const [flags, ways] of right.empty.entries()) addAll(last, left.last, ways, flags > 0);
    const empty = [0, 0, 0, 0];
    for (const [ofLeft, waysLeft] of left.empty.entries()) {
      for (const [ofRight, waysRight] of right.empty.entries()) {
        const flags = ofLeft | ofRight;
        empty[flags] = Math.min(2, (empty[flags] ?? 0) + waysLeft * waysRight);
      }
    }
    return { first, last, empty };
  }

  private repeated({ body, min, max }: Extract<Syntax, { kind: 'repeat' }>): Part {
    if (max === 0) return nothing();
    if (max === 1) return min === 0 ? optional(this.part(body)) : this.part(body);
    if (body.kind === 'set' && max <= maxCopies) return this.copies(body, min, max);
    const part = this.part(body);
    const isEmpty = part.empty.some((ways) => ways > 0);
    if (isEmpty && min > 1) throw new Unprovable('it counts repeats that may be empty');
    this.joined(part, part);
    return min === 0 ? optional(part) : part;
  }

  /** One character `min` to `max` times, written out, so that it has an end. */
  private copies(body: Syntax, min: number, max: number): Part {
    let part = nothing();
    for (let index = max; index > 0; index -= 1) {
      const rest = this.joined(this.part(body), part);
      part = index > min ? optional(rest) : rest;
    }
    return part;
  }

  /** Characters that the sets of the expression treat alike are one symbol. */
  private alphabet(): Pick<Automaton, 'symbols' | 'characters'> {
    const flags = this.flags.replaceAll(/[gyd]/g, '');
    const tests = this.sets.map((source, index) => new RegExp(`^(?:${source})$`, index < firstPosition ? '' : flags));
    const known = new Map<string, string>();
    for (const character of candidates(this.sets, /[uv]/.test(flags))) {
      const key = tests.map((test) => (test.test(character) ? '1' : '0')).join('');
      if (!known.has(key)) known.set(key, character);
    }
    const keys = [...known.keys()];
    const symbols = this.sets.map(
      (_, state) => new Set(keys.flatMap((key, symbol) => (key[state] === '1' ? [symbol] : []))),
    );
    return { symbols, characters: [...known.values()] };
  }
}

function nothing(): Part {
  return { first: new Map(), last: new Map(), empty: emptyWay(0) };
}

function emptyWay(flags: number): number[] {
  return [0, 1, 2, 3].map((each) => (each === flags ? 1 : 0));
}

/** An empty pass of an optional part is refused, so there is one way around it. */
function optional({ first, last }: Part): Part {
  return { first, last, empty: emptyWay(0) };
}

function either(left: Part, right: Part): Part {
  const first: Ways = new Map(left.first);
  const last: Ways = new Map(left.last);
  addAll(first, right.first, 1, false);
  addAll(last, right.last, 1, false);
  return { first, last, empty: left.empty.map((ways, flags) => Math.min(2, ways + (right.empty[flags] ?? 0))) };
}

function addAll(into: Ways, ways: Ways, times: number, isConditional: boolean): void {
  if (times === 0) return;
  for (const [position, [free, conditional]] of ways) {
    const [oldFree, oldConditional] = into.get(position) ?? [0, 0];
    const [newFree, newConditional] = isConditional ? [0, free + conditional] : [free, conditional];
    into.set(position, [Math.min(2, oldFree + newFree * times), Math.min(2, oldConditional + newConditional * times)]);
  }
}

function lengthOf(syntax: Syntax): number {
  switch (syntax.kind) {
    case 'set':
      return 1;
    case 'sequence':
      return syntax.items.reduce((sum, item) => sum + lengthOf(item), 0);
    case 'choice':
      return Math.max(...syntax.items.map(lengthOf));
    case 'repeat':
      return syntax.max === 0 ? 0 : lengthOf(syntax.body) * syntax.max;
    case 'reference':
      return Number.POSITIVE_INFINITY;
    default:
      return 0;
  }
}

/** Characters of every kind that expressions distinguish, and those around the ones that they name. */
function candidates(sets: readonly string[], isUnicode: boolean): string[] {
  const codes = new Set(Array.from({ length: 128 }, (_, code) => code));
  for (const character of '\u0085\u00a0\u00e9\u00df\u0130\u017f\u0301\u0430\u05d0\u0660\u0e01\u200b\u2028\u2029\u212a\u3000\u3042\u4e00\ud7a3\ue000\ufeff\uff1c\uffff') {
    codes.add(character.codePointAt(0) ?? 0);
  }
  if (isUnicode) for (const code of [0x1_f600, 0x1_0400, 0x2_0000, 0xe_0041, 0x10_fffd]) codes.add(code);
  for (const source of sets) {
    for (const code of codesIn(source)) for (const near of [code - 1, code, code + 1]) codes.add(near);
  }
  const isKnown = (code: number): boolean => code >= 0 && code <= (isUnicode ? 0x10_ffff : 0xffff);
  // Characters that can be read come first, for the sake of messages.
  const ordered = [...codes].filter(isKnown).toSorted((left, right) => rankOf(left) - rankOf(right));
  return ordered.map((code) => String.fromCodePoint(code));
}

function rankOf(code: number): number {
  return code >= 0x61 && code <= 0x7a ? 0 : code > 0x20 && code < 0x7f ? 1 : 2;
}

function codesIn(source: string): number[] {
  const escaped = [...source.matchAll(/\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/gi)];
  const named = escaped.map(([, braces, four, two]) => Number.parseInt(braces ?? four ?? two ?? '0', 16));
  return [...named, ...[...source].map((character) => character.codePointAt(0) ?? 0)];
}
