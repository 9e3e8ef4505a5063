import { canonicalJson } from '#common/json-schema';
import { hasBit } from '../sampling/token-constraint.js';
import { checkDeadline } from './compile-deadline.js';
import { tokensAlong } from './quoted-tokens.js';
import type { TextAutomaton, TextState } from './text-automaton.js';
import type { TokenTrie } from './token-trie.js';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const blank = 0x20;
const openings = new Set([0x5b, 0x7b]);
const closings = new Set([0x5d, 0x7d]);
const openingBracket = 0x5b;
const closingBracket = 0x5d;

/** Bytes that are tried to learn whether a list may go on; beyond, it counts as if it may. */
const maxTried = 20_000;

/** An item as far as it was read. */
class ItemText {
  private constructor(
    /** Without blanks outside of strings; one character per byte. */
    readonly text: string,
    private readonly depth: number,
    readonly isInString: boolean,
    private readonly isEscaped: boolean,
  ) {}

  static readonly empty = new ItemText('', 0, false, false);

  /** Whether it is a number, `true`, `false` or `null`, whose end only the next byte tells. */
  get isBare(): boolean {
    const first = this.text.charCodeAt(0);
    return this.text !== '' && first !== quote && !openings.has(first);
  }

  get isComplete(): boolean {
    return this.text !== '' && !this.isBare && this.depth === 0 && !this.isInString;
  }

  /** Equal for items that go on alike. */
  get key(): string {
    return `${this.depth}${this.isInString}${this.isEscaped}${this.isBare}`;
  }

  with(byte: number): ItemText {
    const { text, depth, isInString, isEscaped } = this;
    if (byte === blank && !isInString) return this;
    const longer = text + String.fromCharCode(byte);
    if (isInString) {
      if (isEscaped) return new ItemText(longer, depth, true, false);
      return new ItemText(longer, depth, byte !== quote, byte === backslash);
    }
    const step = openings.has(byte) ? 1 : closings.has(byte) ? -1 : 0;
    return new ItemText(longer, depth + step, byte === quote, false);
  }

  /** The value in one form. */
  get canonical(): string {
    return canonicalJson(JSON.parse(Buffer.from(this.text, 'latin1').toString()));
  }
}

/** The items of one open list: those that are complete by their canonical JSON, with their texts, and the one at hand. */
interface ListItems {
  readonly complete: ReadonlyMap<string, string>;
  readonly open: ItemText | null;
}

/** Where in its lists a text is. */
export class ItemReader {
  constructor(
    private readonly automaton: TextAutomaton,
    private lists: ReadonlyMap<object, ListItems> = new Map(),
  ) {}

  copy(): ItemReader {
    return new ItemReader(this.automaton, this.lists);
  }

  get all(): Iterable<[object, ListItems]> {
    return this.lists;
  }

  get hasLists(): boolean {
    return this.lists.size > 0;
  }

  /** Reads the byte that leads from one state to the next; false where it ends an item that its list has. */
  read(from: TextState, byte: number, to: TextState): boolean {
    const inside = this.automaton.itemLists(to);
    if (this.lists.size === 0 && (byte !== openingBracket || inside.size === 0)) return true;
    const before = this.automaton.itemLists(from);
    const lists = new Map<object, ListItems>();
    let isNew = true;
    const known = byte === closingBracket ? this.automaton.openObjects(to) : null;
    for (const [list, items] of this.lists) {
      const next = nextItems(items, byte, before.has(list));
      if (next === null) isNew = false;
      if (known === null || known.has(list)) lists.set(list, next ?? items);
    }
    if (byte === openingBracket) {
      for (const list of inside) if (!lists.has(list)) lists.set(list, { complete: new Map(), open: null });
    }
    this.lists = lists;
    return isNew;
  }
}

/** Null where the byte ends an item that the list has. */
function nextItems({ complete, open }: ListItems, byte: number, isAtItem: boolean): ListItems | null {
  if (open === null) {
    if (!isAtItem || byte === comma || byte === blank || byte === closingBracket) return { complete, open };
    return { complete, open: ItemText.empty.with(byte) };
  }
  const isBareEnd = open.isBare && (byte === comma || byte === closingBracket);
  const item = isBareEnd ? open : open.with(byte);
  if (!isBareEnd && !item.isComplete) return { complete, open: item };
  const value = item.canonical;
  return complete.has(value) ? null : { complete: new Map([...complete, [value, item.text]]), open: null };
}

/** The tokens of a vocabulary that may end an item. */
interface EndingTokens {
  /** Those with a comma, with a closing bracket, and with a quote. */
  readonly commas: readonly number[];
  readonly closings: readonly number[];
  readonly quotes: readonly number[];
}

const endings = new WeakMap<TokenTrie, EndingTokens>();

function endingTokensOf(trie: TokenTrie): EndingTokens {
  const known = endings.get(trie);
  if (known !== undefined) return known;
  const having = (isSought: (byte: number) => boolean): number[] =>
    [...trie.tokens].filter((id) => trie.tokenBytes[id]?.some(isSought) === true);
  const found = {
    commas: having((byte) => byte === comma),
    closings: having((byte) => closings.has(byte)),
    quotes: having((byte) => byte === quote),
  };
  endings.set(trie, found);
  return found;
}

/**
 * Keeps the items of each list of one text apart in which none may come twice, whatever values they are. Values are
 * compared, so that neither blanks nor the order of members make a difference.
 */
export class UniqueItems {
  private readonly reader: ItemReader;
  private readonly tokens: EndingTokens;
  private readonly others = new WeakMap<TextState, Map<string, number>>();

  constructor(
    private readonly automaton: TextAutomaton,
    private readonly trie: TokenTrie,
  ) {
    this.reader = new ItemReader(automaton);
    this.tokens = endingTokensOf(trie);
  }

  /** Goes on by one byte of the text. */
  read(from: TextState, byte: number, to: TextState): void {
    this.reader.read(from, byte, to);
  }

  /** Tokens of the mask with which an item would come twice, or behind which no other item could come. */
  repeating(state: TextState, mask: Uint32Array): Set<number> {
    const found = new Set<number>();
    if (!this.reader.hasLists && this.automaton.itemLists(state).size === 0) return found;
    const seen = new Set<number>();
    for (const id of this.tokensToRead(state)) {
      if (seen.has(id) || !hasBit(mask, id)) continue;
      seen.add(id);
      if (this.repeats(state, id)) found.add(id);
    }
    return found;
  }

  /** Those that must be read to know whether an item would come twice. */
  private *tokensToRead(state: TextState): Generator<number, void> {
    const { commas, closings: closers, quotes } = this.tokens;
    // Two items within a token have a comma between.
    yield* commas;
    for (const [list, { complete, open }] of this.reader.all) {
      if (complete.size === 0) continue;
      // Few tokens go on with these.
      if (open === null ? this.automaton.itemLists(state).has(list) : open.isBare) yield* this.trie.tokens;
      if (open === null || open.isBare) continue;
      yield* open.text.startsWith('"') ? quotes : closers;
      for (const text of complete.values()) {
        if (text.startsWith(open.text)) {
          yield* tokensAlong(this.trie, Buffer.from(text.slice(open.text.length), 'latin1'));
        }
      }
    }
  }

  private repeats(start: TextState, id: number): boolean {
    const reader = this.reader.copy();
    let state = start;
    for (const byte of this.trie.tokenBytes[id] ?? []) {
      const next = this.automaton.next(state, byte);
      if (next === null || !reader.read(state, byte, next)) return true;
      state = next;
    }
    return this.isDead(reader, state);
  }

  /** Whether each item with which a list may go on is one that it has. */
  private isDead(reader: ItemReader, state: TextState): boolean {
    const lists = this.automaton.itemLists(state);
    for (const [list, { complete, open }] of reader.all) {
      const isBehindItem = open === null && (!lists.has(list) || this.automaton.next(state, comma) !== null);
      if (complete.size === 0 || isBehindItem) continue;
      const begun = open ?? ItemText.empty;
      let taken = 0;
      for (const text of complete.values()) if (text.startsWith(begun.text)) taken++;
      if (taken > 0 && this.itemsBehind(state, begun, taken + 1) <= taken) return true;
    }
    return false;
  }

  /** How many texts end the item at hand, up to a number. */
  private itemsBehind(start: TextState, begun: ItemText, most: number): number {
    const known = this.others.get(start) ?? new Map<string, number>();
    this.others.set(start, known);
    const key = `${begun.key} ${most}`;
    const count = known.get(key) ?? this.countItems(start, begun, most);
    known.set(key, count);
    return count;
  }

  private countItems(start: TextState, begun: ItemText, most: number): number {
    let found = 0;
    let tried = 0;
    let layer = new Map<TextState, { item: ItemText; ways: number }>([[start, { item: begun, ways: 1 }]]);
    while (layer.size > 0 && found < most) {
      const next = new Map<TextState, { item: ItemText; ways: number }>();
      for (const [state, { item, ways }] of layer) {
        if (item.isBare && this.mayEndBare(state)) found += ways;
        for (let byte = blank + 1; byte < 256; byte++) {
          checkDeadline();
          if (++tried > maxTried) return most;
          if (item.isBare && (byte === comma || byte === closingBracket)) continue;
          const successor = this.automaton.next(state, byte);
          if (successor === null) continue;
          const longer = item.with(byte);
          if (longer.isComplete) found += ways;
          else next.set(successor, { item: longer, ways: (next.get(successor)?.ways ?? 0) + ways });
        }
      }
      layer = next;
    }
    return found;
  }

  private mayEndBare(state: TextState): boolean {
    return this.automaton.next(state, comma) !== null || this.automaton.next(state, closingBracket) !== null;
  }
}
