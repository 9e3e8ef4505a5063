import { checkDeadline, drained, isSliceOver } from './compile-deadline.js';
import { ConstraintRefusal } from './refusal.js';

/*
 * Regular languages over bytes as hash-consed expressions, read by Brzozowski derivatives: the derivative of a language
 * by a byte is the language of what may follow it. Counted repetition, intersection and complement need no automaton of
 * their own, and every state is built only when some text reaches it.
 */

export type RegexKind =
  'empty' | 'epsilon' | 'set' | 'literal' | 'concat' | 'or' | 'and' | 'not' | 'repeat' | 'machine';

/** A language as an automaton. Its states are numbers; it begins in 0, and every state leads to some text. */
export interface RegexMachine {
  isEnd(state: number): boolean;
  /** Null where no text goes on with the byte, which is one that the arena has a set for. */
  next(state: number, byte: number): number | null;
}

/** One language. Equal expressions of an arena are the same object. */
export interface Regex {
  readonly id: number;
  readonly kind: RegexKind;
  /** Whether the empty text belongs to it. */
  readonly nullable: boolean;
  /** Free of intersection and complement: its language is empty only if its kind is. */
  readonly plain: boolean;
  /** Two children of `concat`; the one child of `not` and `repeat`; all of `or` and `and`. */
  readonly children: readonly Regex[];
  /** Of `set`: 1 for each member byte. */
  readonly set: Uint8Array | null;
  /** Of `literal`: the text and where in it the language begins. */
  readonly bytes: Uint8Array | null;
  readonly offset: number;
  /** Of `machine`: whose offset is its state. */
  readonly machine: RegexMachine | null;
  /** Of `repeat`. */
  readonly min: number;
  readonly max: number;
  /** Of `concat`: how many parts follow each other; else 1. */
  readonly length: number;
  /** Of a wide `or`: its children by the bytes that they may begin with. Made when first asked for. */
  branches: WideBranches | null;
  /** Derivatives found so far, by byte. */
  readonly derivatives: Map<number, Regex>;
  /** Whether any text belongs to it; null while unknown. */
  isLive: boolean | null;
  /** See `RegexArena.clip`. */
  clipped: Regex | null;
}

/** Number of states that one search for a member of a language may visit. */
const maxSearchStates = 4_000;

/** Parts that may follow each other, as those of a long literal do. */
const maxLength = 131_072;

/** Expressions that a compilation may make; see `RegexArena.maxSize`. */
const maxCompiledSize = 250_000;

/** Children of an `or` beyond which they are looked up by their first byte. */
const wideChoice = 16;

const noBytes = new Uint8Array(0);

/** The children of an `or` whose texts begin with a byte, and those of which that is not known. */
interface WideBranches {
  readonly byByte: readonly (readonly Regex[] | undefined)[];
  readonly others: readonly Regex[];
}

/** Makes the expressions of one grammar and keeps one object per language that it has written. */
export class RegexArena {
  readonly empty: Regex;
  readonly epsilon: Regex;
  /** Every text. */
  readonly anything: Regex;
  /** How many expressions were made. */
  size = 0;
  /** How many may be made before the next one is refused. */
  maxSize = maxCompiledSize;
  private readonly known = new Map<string, Regex>();
  private readonly named = new Map<string, Regex>();
  private readonly sets: Uint8Array[] = [];
  private readonly ranges = new Map<number, Regex>();
  private byteClasses: ByteClasses | null = null;
  private readonly literalIds = new Map<Uint8Array, number>();
  private readonly machineIds = new Map<RegexMachine, number>();

  constructor() {
    this.empty = this.make('empty', 'empty', { isLive: false });
    this.epsilon = this.make('epsilon', 'epsilon', { nullable: true, isLive: true });
    this.anything = this.make('anything', 'not', {
      nullable: true,
      plain: false,
      children: [this.empty],
      isLive: true,
    });
  }

  /** Bytes that every set of this arena treats alike. Made when first asked for, and again when sets were added. */
  get classes(): ByteClasses {
    return (this.byteClasses ??= byteClassesOf(this.sets));
  }

  /** What `make` gave for this key before, else now. */
  remembered(key: string, make: () => Regex): Regex {
    const known = this.named.get(key) ?? make();
    this.named.set(key, known);
    return known;
  }

  byteSet(includes: (byte: number) => boolean): Regex {
    const set = Uint8Array.from({ length: 256 }, (_, byte) => (includes(byte) ? 1 : 0));
    if (!set.includes(1)) return this.empty;
    return this.intern(`s${set.join('')}`, () => {
      this.sets.push(set);
      this.byteClasses = null;
      return { kind: 'set', set, isLive: true };
    });
  }

  byte(value: number): Regex {
    return this.byteRange(value, value);
  }

  byteRange(low: number, high: number): Regex {
    const key = low * 256 + high;
    const known = this.ranges.get(key) ?? this.byteSet((byte) => byte >= low && byte <= high);
    this.ranges.set(key, known);
    return known;
  }

  literal(bytes: Uint8Array): Regex {
    for (const byte of new Set(bytes)) this.byte(byte);
    return this.literalFrom(bytes, 0);
  }

  machine(machine: RegexMachine, state = 0): Regex {
    const id = this.machineIds.get(machine) ?? this.machineIds.size;
    this.machineIds.set(machine, id);
    return this.intern(`m${id},${state}`, () => ({
      kind: 'machine',
      machine,
      offset: state,
      nullable: machine.isEnd(state),
      isLive: true,
    }));
  }

  text(text: string): Regex {
    return this.literal(new TextEncoder().encode(text));
  }

  concat(...parts: readonly Regex[]): Regex {
    return this.joined(parts);
  }

  private joined(parts: readonly Regex[]): Regex {
    let rest = this.epsilon;
    for (let index = parts.length - 1; index >= 0; index--) rest = this.concatTwo(parts[index] ?? this.epsilon, rest);
    return rest;
  }

  /** As `concat`, of parts that may be many or long. Yields when its slice is over. */
  *chain(parts: readonly Regex[]): Generator<void, Regex> {
    let chain = this.epsilon;
    for (let index = parts.length - 1; index >= 0; index--) {
      const heads = this.partsOf(parts[index] ?? this.epsilon);
      for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
        if (isSliceOver()) yield;
        chain = this.concatTwo(head, chain);
      }
    }
    return chain;
  }

  /** The parts of a `concat`, in order. */
  private partsOf(regex: Regex): Regex[] {
    checkDeadline(regex.length / 16);
    const parts: Regex[] = [];
    let rest = regex;
    for (; rest.kind === 'concat'; rest = rest.children[1] ?? this.epsilon) parts.push(rest.children[0] ?? this.empty);
    return [...parts, rest];
  }

  or(...choices: readonly Regex[]): Regex {
    return this.anyOf(choices);
  }

  /** As `or`, of a list that may be long. */
  anyOf(choices: readonly Regex[]): Regex {
    const found = new Set<Regex>();
    for (const choice of choices) {
      if (choice === this.anything) return choice;
      if (choice.kind === 'or') addAll(choice.children, found);
      else if (choice !== this.empty) found.add(choice);
    }
    return this.combined('or', found, this.empty);
  }

  and(...parts: readonly Regex[]): Regex {
    const found = new Set<Regex>();
    for (const part of parts) {
      if (part === this.empty) return part;
      if (part.kind === 'and') addAll(part.children, found);
      else if (part !== this.anything) found.add(part);
    }
    return this.combined('and', found, this.anything);
  }

  not(part: Regex): Regex {
    if (part === this.empty) return this.anything;
    if (part.kind === 'not') return part.children[0] ?? this.empty;
    return this.intern(`n${part.id}`, () => ({
      kind: 'not',
      nullable: !part.nullable,
      plain: false,
      children: [part],
    }));
  }

  repeat(part: Regex, min: number, max: number): Regex {
    if (max === 0 || part === this.epsilon) return this.epsilon;
    if (part === this.empty) return min === 0 ? this.epsilon : this.empty;
    if (min === 1 && max === 1) return part;
    if (part.kind === 'repeat' && part.min === 0 && part.max === Infinity) return part;
    // Iterations of a nullable body may all be empty, so none of them is required.
    const least = part.nullable ? 0 : min;
    return this.intern(`r${part.id},${least},${max}`, () => ({
      kind: 'repeat',
      nullable: least === 0,
      plain: part.plain,
      children: [part],
      min: least,
      max,
      isLive: part.plain ? true : null,
    }));
  }

  optional(part: Regex): Regex {
    return this.or(this.epsilon, part);
  }

  star(part: Regex): Regex {
    return this.repeat(part, 0, Infinity);
  }

  /** The language of what may follow `byte`. */
  derive(regex: Regex, byte: number): Regex {
    const known = regex.derivatives.get(byte);
    if (known !== undefined) return known;
    const derivative = this.derivativeOf(regex, byte);
    regex.derivatives.set(byte, derivative);
    return derivative;
  }

  /** Whether any text belongs to the language. Throws a refusal where the search grows beyond its limit. */
  isLive(regex: Regex): boolean {
    if (regex.isLive !== null) return regex.isLive;
    return drained(this.findLive(regex));
  }

  /** As `isLive`, as work that yields when its slice is over. */
  *findLive(regex: Regex): Generator<void, boolean> {
    if (regex.isLive !== null) return regex.isLive;
    if (regex.nullable || regex.plain) return (regex.isLive = regex.nullable || regex !== this.empty);
    return yield* this.searchMember(regex);
  }

  /**
   * The language with every counter lowered to `limit`. As each iteration takes at least one byte, both languages have
   * the same members, and the same beginnings of members, among the texts shorter than `limit`. Counters under an
   * intersection or a complement stay, since whether anything is left depends on their exact value.
   */
  clip(regex: Regex, limit: number): Regex {
    if (regex.clipped !== null) return regex.clipped;
    regex.clipped = regex.plain ? this.clippedOf(regex, limit) : regex;
    return regex.clipped;
  }

  private clippedOf(regex: Regex, limit: number): Regex {
    const [first = this.empty] = regex.children;
    if (regex.kind === 'concat') {
      // Without recursion along the chain, which is as long as a pattern.
      return this.joined(this.partsOf(regex).map((part) => this.clip(part, limit)));
    }
    if (regex.kind === 'or') return this.anyOf(regex.children.map((child) => this.clip(child, limit)));
    if (regex.kind !== 'repeat') return regex;
    return this.repeat(this.clip(first, limit), Math.min(regex.min, limit), clipMax(regex.max, limit));
  }

  private *searchMember(start: Regex): Generator<void, boolean> {
    const cameFrom = new Map<Regex, Regex | null>([[start, null]]);
    const open = [start];
    for (let regex = open.pop(); regex !== undefined; regex = open.pop()) {
      for (const byte of this.classes.samples) {
        if (isSliceOver()) yield;
        const next = this.derive(regex, byte);
        if (next === this.empty || next.isLive === false || cameFrom.has(next)) continue;
        cameFrom.set(next, regex);
        if (next.isLive === true || next.nullable || next.plain) return markLive(next, cameFrom);
        open.push(next);
      }
      if (cameFrom.size > maxSearchStates) throw new ConstraintRefusal('the combination of patterns is too large');
    }
    for (const dead of cameFrom.keys()) dead.isLive = false;
    return false;
  }

  private derivativeOf(regex: Regex, byte: number): Regex {
    const [first = this.empty, second = this.epsilon] = regex.children;
    switch (regex.kind) {
      case 'empty':
      case 'epsilon':
        return this.empty;
      case 'set':
        return regex.set?.[byte] === 1 ? this.epsilon : this.empty;
      case 'literal':
        return regex.bytes?.[regex.offset] === byte ? this.literalFrom(regex.bytes, regex.offset + 1) : this.empty;
      case 'machine': {
        const next = regex.machine?.next(regex.offset, byte) ?? null;
        return regex.machine === null || next === null ? this.empty : this.machine(regex.machine, next);
      }
      case 'concat': {
        const begun = this.concatTwo(this.derive(first, byte), second);
        return first.nullable ? this.or(begun, this.derive(second, byte)) : begun;
      }
      case 'or':
        return this.anyOf(this.branchesFor(regex, byte).map((child) => this.derive(child, byte)));
      case 'and':
        return this.and(...regex.children.map((child) => this.derive(child, byte)));
      case 'not':
        return this.not(this.derive(first, byte));
      case 'repeat': {
        const rest = this.repeat(first, Math.max(0, regex.min - 1), regex.max - 1);
        return this.concatTwo(this.derive(first, byte), rest);
      }
    }
  }

  /** The children of an `or` with texts that may begin with the byte. */
  private branchesFor(regex: Regex, byte: number): readonly Regex[] {
    if (regex.children.length < wideChoice) return regex.children;
    const { byByte, others } = (regex.branches ??= this.branchesOf(regex.children));
    return [...(byByte[byte] ?? []), ...others];
  }

  private branchesOf(children: readonly Regex[]): WideBranches {
    const byByte: (Regex[] | undefined)[] = [];
    const others: Regex[] = [];
    for (const child of children) {
      checkDeadline();
      const byte = this.firstByteOf(child);
      if (byte === null) others.push(child);
      else (byByte[byte] ??= []).push(child);
    }
    return { byByte, others };
  }

  /** Null where the texts may begin with several bytes. */
  private firstByteOf(regex: Regex): number | null {
    const [first] = regex.children;
    if (regex.kind === 'literal') return regex.bytes?.[regex.offset] ?? null;
    if (regex.kind === 'concat' && first !== undefined && !first.nullable) return this.firstByteOf(first);
    return regex.kind === 'set' ? this.onlyByteOf(regex) : null;
  }

  private onlyByteOf({ set }: Regex): number | null {
    const byte = set?.indexOf(1) ?? -1;
    return byte >= 0 && set?.lastIndexOf(1) === byte ? byte : null;
  }

  private concatTwo(first: Regex, second: Regex): Regex {
    if (first === this.empty || second === this.empty) return this.empty;
    if (first === this.epsilon) return second;
    if (second === this.epsilon) return first;
    if (first.kind !== 'concat') return this.pair(first, second);
    // Without recursion along the chain, which is as long as a literal of a grammar.
    const heads = this.partsOf(first);
    let chain = second;
    for (let head = heads.pop(); head !== undefined; head = heads.pop()) chain = this.pair(head, chain);
    return chain;
  }

  private pair(first: Regex, second: Regex): Regex {
    const length = second.length + 1;
    if (length > maxLength) throw new ConstraintRefusal(`a text of more than ${maxLength} parts is not supported`);
    return this.intern(`c${first.id},${second.id}`, () => ({
      kind: 'concat',
      nullable: first.nullable && second.nullable,
      plain: first.plain && second.plain,
      children: [first, second],
      length,
    }));
  }

  private combined(kind: 'or' | 'and', found: ReadonlySet<Regex>, neutral: Regex): Regex {
    const children = [...found];
    const [only] = children;
    if (only === undefined) return neutral;
    if (children.length === 1) return only;
    checkDeadline(children.length);
    children.sort((left, right) => left.id - right.id);
    const isOr = kind === 'or';
    return this.intern(`${isOr ? 'o' : 'a'}${children.map(({ id }) => id).join(',')}`, () => ({
      kind,
      nullable: isOr ? children.some(({ nullable }) => nullable) : children.every(({ nullable }) => nullable),
      plain: isOr && children.every(({ plain }) => plain),
      children,
    }));
  }

  private literalFrom(bytes: Uint8Array, offset: number): Regex {
    if (offset >= bytes.length) return this.epsilon;
    const text = this.literalIds.get(bytes) ?? this.literalIds.size;
    this.literalIds.set(bytes, text);
    return this.intern(`l${text},${offset}`, () => ({ kind: 'literal', bytes, offset, isLive: true }));
  }

  private intern(key: string, members: () => Partial<Regex> & { kind: RegexKind }): Regex {
    // For expressions that are known too: a short grammar may ask for them millions of times.
    checkDeadline();
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const { kind, ...rest } = members();
    return this.make(key, kind, rest);
  }

  private make(key: string, kind: RegexKind, members: Partial<Regex>): Regex {
    if (this.size >= this.maxSize) throw new ConstraintRefusal('it has too many parts');
    const regex: Regex = {
      id: this.size++,
      kind,
      nullable: false,
      plain: true,
      children: [],
      set: null,
      bytes: kind === 'literal' ? noBytes : null,
      offset: 0,
      machine: null,
      min: 0,
      max: 0,
      length: 1,
      branches: null,
      derivatives: new Map(),
      isLive: null,
      clipped: null,
      ...members,
    };
    this.known.set(key, regex);
    return regex;
  }
}

function addAll(children: readonly Regex[], found: Set<Regex>): void {
  checkDeadline(children.length);
  for (const child of children) found.add(child);
}

/** A counter lowered to `limit`; no limit stays none. */
export function clipMax(max: number, limit: number): number {
  return max === Infinity ? max : Math.min(max, limit);
}

/** A partition of the 256 bytes. */
export interface ByteClasses {
  /** Class of each byte. */
  readonly of: Uint8Array;
  /** One byte of each class. */
  readonly samples: readonly number[];
}

function byteClassesOf(sets: readonly Uint8Array[]): ByteClasses {
  const of = new Uint8Array(256);
  let count = 1;
  for (const set of sets) {
    if (count === 256) break;
    checkDeadline();
    // Each class is split into the bytes inside and outside of the set.
    const classes = new Map<number, number>();
    for (let byte = 0; byte < 256; byte++) {
      const key = (of[byte] ?? 0) * 2 + (set[byte] ?? 0);
      if (!classes.has(key)) classes.set(key, classes.size);
      of[byte] = classes.get(key) ?? 0;
    }
    count = classes.size;
  }
  const samples: number[] = [];
  for (let byte = 0; byte < 256; byte++) samples[of[byte] ?? 0] ??= byte;
  return { of, samples };
}

function markLive(member: Regex, cameFrom: ReadonlyMap<Regex, Regex | null>): true {
  for (let regex: Regex | null | undefined = member; regex; regex = cameFrom.get(regex)) regex.isLive = true;
  return true;
}
