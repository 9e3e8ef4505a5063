import { hasBit } from '../sampling/token-constraint.js';
import { quotedTokensOf, type QuotedTokens, tokensAlong } from './quoted-tokens.js';
import { hasMoreTexts } from './text-count.js';
import type { OpenName, TextAutomaton, TextState } from './text-automaton.js';
import type { TokenTrie } from './token-trie.js';

const quote = 0x22;
const closingBrace = 0x7d;
const closingBracket = 0x5d;

/** The names that an open object has so far, as JSON writes them; one character per byte. */
interface WrittenNames {
  readonly names: ReadonlySet<string>;
  /** Whether there may be few others, and whether there are none. */
  readonly isListed: boolean;
  readonly isFull: boolean;
}

/** Where in its objects a text is: their names, and what was read of the one at hand. */
class NameReader {
  private constructor(
    private readonly automaton: TextAutomaton,
    private written: ReadonlyMap<object, WrittenNames>,
    /** Bytes of the name, behind its opening quote; null outside of names. */
    private name: string | null,
    /** All names that may be there, without their opening quote. */
    private languages: readonly OpenName[],
  ) {}

  static at(automaton: TextAutomaton): NameReader {
    return new NameReader(automaton, new Map(), null, []);
  }

  copy(): NameReader {
    return new NameReader(this.automaton, this.written, this.name, this.languages);
  }

  get begun(): string | null {
    return this.name;
  }

  get hasNames(): boolean {
    return this.written.size > 0;
  }

  /** Whether an open object may run out of names, or of those that begin alike. */
  get mayRunOut(): boolean {
    for (const { isListed } of this.written.values()) if (isListed) return true;
    return false;
  }

  /** Whether an open object has all the names that it may have. */
  get hasFullObject(): boolean {
    for (const { isFull } of this.written.values()) if (isFull) return true;
    return false;
  }

  /** Names of the objects that the state is at a name of. */
  namesAt(state: TextState): Set<string> {
    return new Set(this.automaton.openNames(state).names.flatMap(({ object }) => [...this.namesOf(object)]));
  }

  namesOf(object: object): ReadonlySet<string> {
    return this.written.get(object)?.names ?? noNames;
  }

  /** Reads the byte that leads from one state to the next; false where it ends a name that the object has. */
  read(from: TextState, byte: number, to: TextState): boolean {
    if (this.name !== null) {
      if (this.automaton.openNames(to).names.length > 0) this.name += String.fromCharCode(byte);
      else return this.endName(from);
    } else if (byte === quote) {
      const { names } = this.automaton.openNames(to);
      if (names.length > 0) [this.name, this.languages] = ['', names];
    } else if ((byte === closingBrace || byte === closingBracket) && this.written.size > 0) this.leaveObjects(to);
    return true;
  }

  private endName(from: TextState): boolean {
    const name = canonical(this.name ?? '');
    this.name = null;
    const written = new Map(this.written);
    let isNew = true;
    for (const { object } of this.automaton.openNames(from).names) {
      const known = written.get(object);
      if (known?.names.has(name)) isNew = false;
      else written.set(object, this.withName(object, new Set(known?.names).add(name)));
    }
    this.written = written;
    return isNew;
  }

  private withName(object: object, names: ReadonlySet<string>): WrittenNames {
    const languages = this.languages.filter((language) => language.object === object);
    const isListed = languages.some((language) => language.isListed);
    const isFull = isListed && !languages.some((language) => hasOtherNames(language, names, ''));
    return { names, isListed, isFull };
  }

  private leaveObjects(to: TextState): void {
    const open = this.automaton.openObjects(to);
    this.written = new Map([...this.written].filter(([object]) => open.has(object)));
  }
}

const noNames: ReadonlySet<string> = new Set();

/**
 * Keeps the names of each object of one text apart: masks are shared by all texts that lead to equal states, whatever names
 * these have. Only names that a schema does not list need it, and strings of lists in which none may come twice.
 */
export class UniqueNames {
  private readonly reader: NameReader;
  private readonly quoted: QuotedTokens;

  constructor(
    private readonly automaton: TextAutomaton,
    private readonly trie: TokenTrie,
  ) {
    this.reader = NameReader.at(automaton);
    this.quoted = quotedTokensOf(trie);
  }

  /** Goes on by one byte of the text. */
  read(from: TextState, byte: number, to: TextState): void {
    this.reader.read(from, byte, to);
  }

  /** Tokens of the mask with which a name would come twice, or with which no other name could follow. */
  repeating(state: TextState, mask: Uint32Array): Set<number> {
    const found = new Set<number>();
    const add = (id: number): unknown => hasBit(mask, id) && found.add(id);
    const { begun } = this.reader;
    if (begun !== null && !begun.includes('\\')) {
      for (const name of this.reader.namesAt(state)) {
        if (name.startsWith(begun)) this.quoted.simple.get(name.slice(begun.length))?.forEach(add);
      }
    }
    for (const id of this.tokensToRead(state)) {
      if (hasBit(mask, id) && !found.has(id) && this.repeats(state, id)) found.add(id);
    }
    return found;
  }

  /** Those that must be read to know whether a name would come twice. */
  private *tokensToRead(state: TextState): Generator<number, void> {
    const { simple, complex, pairs, doublePairs, commas, beginnings, members } = this.quoted;
    const { begun, hasNames, mayRunOut, hasFullObject } = this.reader;
    if (this.automaton.hasListedNames) yield* members;
    if (!hasNames) return yield* doublePairs;
    if (begun === null) {
      yield* pairs;
      if (mayRunOut) yield* beginnings;
      if (hasFullObject) yield* commas;
      return;
    }
    yield* complex;
    if (begun.includes('\\')) for (const ids of simple.values()) yield* ids;
    if (!mayRunOut) return;
    for (const name of this.reader.namesAt(state)) {
      if (name.startsWith(begun)) yield* tokensAlong(this.trie, Buffer.from(name.slice(begun.length), 'latin1'));
    }
  }

  private repeats(start: TextState, id: number): boolean {
    const reader = this.reader.copy();
    let state = start;
    for (const byte of this.trie.tokenBytes[id] ?? []) {
      const next = this.automaton.next(state, byte);
      if (next === null) return true;
      if (!reader.read(state, byte, next)) return true;
      state = next;
    }
    return reader.mayRunOut && this.isDead(reader, state);
  }

  /** Whether the state is at a name, and all names with which it may go on are taken. */
  private isDead(reader: NameReader, state: TextState): boolean {
    if (this.automaton.openNames(state).names.length === 0) return false;
    const inside = reader.begun === null ? this.automaton.next(state, quote) : state;
    if (inside === null) return false;
    const { names, hasOthers } = this.automaton.openNames(inside);
    if (hasOthers) return false;
    return names.every((open) => !hasOtherNames(open, reader.namesOf(open.object), reader.begun ?? ''));
  }
}

function hasOtherNames({ arena, regex }: OpenName, taken: ReadonlySet<string>, begun: string): boolean {
  let count = 0;
  for (const name of taken) {
    if (!name.startsWith(begun)) continue;
    const rest = Buffer.from(`${name.slice(begun.length)}"`, 'latin1');
    if (rest.reduce((at, byte) => arena.derive(at, byte), regex).nullable) count++;
  }
  return hasMoreTexts(arena, regex, count);
}

/** The name as JSON writes it, whatever escapes it was written with. */
function canonical(name: string): string {
  if (!name.includes('\\')) return name;
  const text = JSON.parse(`"${Buffer.from(name, 'latin1').toString()}"`) as string;
  return Buffer.from(JSON.stringify(text).slice(1, -1)).toString('latin1');
}
