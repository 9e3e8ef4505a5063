import { drained, isSliceOver, checkDeadline } from './compile-deadline.js';
import type { Grammar, GrammarNode } from './grammar.js';
import { ConstraintRefusal } from './refusal.js';
import { clipMax, type Regex } from './regex.js';
import type { OpenNames, TextAutomaton, TextState } from './text-automaton.js';

/** What remains behind the lexeme at hand: a linked stack, one object for equal stacks. */
interface Continuation {
  readonly id: number;
  readonly node: GrammarNode;
  readonly next: Continuation | null;
  /** Whether the text may end here. */
  readonly isNullable: boolean;
  /** The end of the innermost object that it is in and whose names are open. */
  scope: Continuation | null;
  /** The end of the innermost item that it is in, of a list in which none comes twice. */
  item: Continuation | null;
  clipped: Continuation | null;
}

/** One way to read the text so far: inside a lexeme, with what remains behind it. */
interface Thread {
  readonly id: number;
  readonly regex: Regex;
  readonly rest: Continuation | null;
}

/** All ways to read the text so far: a state of the automaton, one object for equal states. */
export interface State extends TextState {
  readonly threads: readonly Thread[];
  /** Successors found so far, by byte class; null where no text goes on with the class. */
  readonly successors: (State | null | undefined)[];
  /** See `Automaton.clip`. */
  clipped: State | null;
  /** Found when first asked for. */
  names: OpenNames | null;
  items: ReadonlySet<object> | null;
}

/**
 * Ways that one state keeps. Those beyond are dropped: every kept one still leads to complete texts of the grammar, so
 * what is generated stays valid; only some of the valid texts are no longer offered.
 */
const maxThreads = 2_048;

/** Objects that one automaton may make before the sequence that makes the next one fails. */
const maxObjects = 600_000;

/** Factor of keys of two ids; ids stay below it, and keys below 2^53. */
const idRange = 2 ** 26;

/**
 * The deterministic automaton of a grammar, made state by state as texts reach them. A state is a set of threads, since
 * a text may be read in several ways. Shared by all requests with the same grammar.
 */
export class Automaton implements TextAutomaton {
  start: State;
  /** Class of each byte: bytes of one class always lead to the same state. */
  readonly classOf: Uint8Array;
  private readonly samples: readonly number[];
  private objects = 0;
  private readonly continuations = new Map<number, Continuation>();
  private readonly threads = new Map<number, Thread>();
  private readonly states = new Map<string, State>();

  private constructor(private readonly grammar: Grammar) {
    grammar.arena.maxSize = maxObjects;
    const { of, samples } = grammar.arena.classes;
    this.classOf = of;
    this.samples = samples;
    this.start = { threads: [], isComplete: false, successors: [], clipped: null, names: null, items: null };
  }

  /** Opens the first state, which may be large: yields when its slice is over. */
  static *open(grammar: Grammar, start: GrammarNode): Generator<void, Automaton> {
    const automaton = new Automaton(grammar);
    const found = new ThreadSet();
    found.open.push([start, null]);
    while (!automaton.expandSlice(found)) yield;
    automaton.start = automaton.stateOf(found);
    return automaton;
  }

  /** As `open`, at once. */
  static of(grammar: Grammar, start: GrammarNode): Automaton {
    return drained(Automaton.open(grammar, start));
  }

  /** A measure of the memory it holds. */
  get size(): number {
    return this.objects + this.grammar.arena.size;
  }

  get hasOpenNames(): boolean {
    return this.grammar.hasOpenNames;
  }

  get hasListedNames(): boolean {
    return this.grammar.hasListedNames;
  }

  openNames(state: State): OpenNames {
    return (state.names ??= this.namesOf(state));
  }

  private namesOf({ threads }: State): OpenNames {
    const { arena } = this.grammar;
    const names = threads.flatMap(({ regex, rest }) => {
      const node = rest?.node;
      if (node?.kind !== 'mark' || node.mark === 'object' || node.mark === 'item' || !rest?.scope) return [];
      return [{ object: rest.scope, regex, arena, isListed: node.mark === 'listed-name' }];
    });
    return { names, hasOthers: names.length < threads.length };
  }

  get hasDistinctItems(): boolean {
    return this.grammar.hasDistinctItems;
  }

  itemLists(state: State): ReadonlySet<object> {
    return (state.items ??= this.listsOf(state));
  }

  private listsOf({ threads }: State): ReadonlySet<object> {
    const lists = new Set<object>();
    if (!this.hasDistinctItems) return lists;
    for (const { rest } of threads) {
      for (let item = rest?.item ?? null; item !== null; item = item.next?.item ?? null) {
        if (item.scope !== null) lists.add(item.scope);
      }
    }
    return lists;
  }

  openObjects(state: State): Set<object> {
    const objects = new Set<object>();
    for (const { rest } of state.threads) {
      for (let scope = rest?.scope ?? null; scope !== null && !objects.has(scope); scope = scope.next?.scope ?? null) {
        objects.add(scope);
      }
    }
    return objects;
  }

  /** The state behind one more byte; null where no text of the grammar goes on with it. */
  next(state: State, byte: number): State | null {
    const byteClass = this.classOf[byte] ?? 0;
    const known = state.successors[byteClass];
    if (known !== undefined) return known;
    const successor = this.successorOf(state, this.samples[byteClass] ?? byte);
    state.successors[byteClass] = successor;
    return successor;
  }

  /**
   * The state with all counters lowered to `limit`, which goes on with the same texts shorter than that. Positions deep
   * inside long strings and lists have it in common.
   */
  clip(state: State, limit: number): State {
    if (state.clipped !== null) return state.clipped;
    const found = new ThreadSet();
    found.isComplete = state.isComplete;
    for (const { regex, rest } of state.threads) {
      found.threads.add(this.thread(this.grammar.arena.clip(regex, limit), this.clipRest(rest, limit)));
    }
    state.clipped = this.stateOf(found);
    state.clipped.clipped = state.clipped;
    return state.clipped;
  }

  private clipRest(rest: Continuation | null, limit: number): Continuation | null {
    if (rest === null) return null;
    // Without recursion: stacks are as deep as documents are nested.
    const open: Continuation[] = [];
    for (let at: Continuation | null = rest; at !== null && at.clipped === null; at = at.next) open.push(at);
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      at.clipped = this.continuation(this.clipNode(at.node, limit), at.next?.clipped ?? null);
    }
    return rest.clipped;
  }

  private clipNode(node: GrammarNode, limit: number): GrammarNode {
    if (node.kind !== 'repeat') return node;
    return this.grammar.repeat(node.body, Math.min(node.min, limit), clipMax(node.max, limit));
  }

  private successorOf(state: State, byte: number): State | null {
    const { arena } = this.grammar;
    const found = new ThreadSet();
    for (const { regex, rest } of state.threads) {
      const derivative = arena.derive(regex, byte);
      if (derivative === arena.empty || !arena.isLive(derivative)) continue;
      if (derivative !== arena.epsilon) found.threads.add(this.thread(derivative, rest));
      if (derivative.nullable) this.pop(rest, found);
    }
    return found.threads.size === 0 && !found.isComplete ? null : this.stateOf(found);
  }

  private pop(rest: Continuation | null, found: ThreadSet): void {
    if (rest === null) found.isComplete = true;
    else this.expand(rest.node, rest.next, found);
  }

  /** Adds every thread with which `node`, followed by `rest`, may begin. */
  private expand(node: GrammarNode, rest: Continuation | null, found: ThreadSet): void {
    found.open.push([node, rest]);
    while (!this.expandSlice(found));
  }

  /** Expands what is open until nothing is, or the slice is over: then false. */
  private expandSlice(found: ThreadSet): boolean {
    const { open } = found;
    for (let item = open.pop(); item !== undefined; item = open.pop()) {
      const [at, behind] = item;
      const key = at.id * idRange + (behind === null ? 0 : behind.id + 1);
      if (found.seen.has(key) || !this.grammar.isProductive(at)) continue;
      found.seen.add(key);
      this.expandNode(at, behind, found);
      if (found.threads.size > maxThreads) this.leaveOpen(found);
      if (isSliceOver()) return false;
    }
    return true;
  }

  private expandNode(at: GrammarNode, behind: Continuation | null, found: ThreadSet): void {
    const { open } = found;
    const leave = (): void => {
      if (behind === null) found.isComplete = true;
      else open.push([behind.node, behind.next]);
    };
    if (at.kind === 'lexeme') {
      found.threads.add(this.thread(at.regex, behind));
      if (at.regex.nullable) leave();
    } else if (at.kind === 'mark') leave();
    else if (at.kind === 'rule') open.push([at.body ?? this.grammar.nothing, behind]);
    else if (at.kind === 'choice') {
      checkDeadline(at.items.length);
      for (const branch of at.items) open.push([branch, behind]);
    } else if (at.kind === 'sequence') {
      checkDeadline(at.items.length);
      const stack = at.items.slice(1).reduceRight((below, later) => this.continuation(later, below), behind);
      open.push([at.items[0] ?? this.grammar.epsilon, stack]);
      if (at.items.length === 0) leave();
    } else if (at.kind === 'repeat') {
      if (at.min === 0) leave();
      if (!this.grammar.isProductive(at.body)) return;
      const more = this.grammar.repeat(at.body, Math.max(0, at.min - 1), at.max - 1);
      open.push([at.body, more === this.grammar.epsilon ? behind : this.continuation(more, behind)]);
    }
  }

  /** Drops what is open of a state with too many threads, but for whether the text may end. */
  private leaveOpen(found: ThreadSet): void {
    for (const [node, behind] of found.open.splice(0)) {
      checkDeadline();
      if (this.grammar.isNullable(node) && (behind === null || behind.isNullable)) found.isComplete = true;
    }
  }

  private continuation(node: GrammarNode, next: Continuation | null): Continuation {
    const key = node.id * idRange + (next === null ? 0 : next.id + 1);
    const known = this.continuations.get(key);
    if (known !== undefined) return known;
    const isNullable = this.grammar.isNullable(node) && (next === null || next.isNullable);
    const [scope, item] = [next?.scope ?? null, next?.item ?? null];
    const continuation: Continuation = { id: this.count(), node, next, isNullable, scope, item, clipped: null };
    if (node.kind === 'mark' && node.mark === 'object') continuation.scope = continuation;
    if (node.kind === 'mark' && node.mark === 'item') continuation.item = continuation;
    this.continuations.set(key, continuation);
    return continuation;
  }

  private thread(regex: Regex, rest: Continuation | null): Thread {
    const key = regex.id * idRange + (rest === null ? 0 : rest.id + 1);
    const known = this.threads.get(key);
    if (known !== undefined) return known;
    const thread: Thread = { id: this.count(), regex, rest };
    this.threads.set(key, thread);
    return thread;
  }

  private stateOf({ threads: found, isComplete }: ThreadSet): State {
    let threads = [...found].sort((left, right) => left.id - right.id);
    if (threads.length > maxThreads) threads = threads.slice(0, maxThreads);
    const key = `${isComplete ? '+' : '-'}${threads.map(({ id }) => id).join(',')}`;
    const known = this.states.get(key);
    if (known !== undefined) return known;
    this.count();
    const state: State = { threads, isComplete, successors: [], clipped: null, names: null, items: null };
    this.states.set(key, state);
    return state;
  }

  private count(): number {
    if (this.size >= maxObjects) throw new ConstraintRefusal('it leads to too many states');
    return this.objects++;
  }
}

/** Threads of a state that is being made. */
class ThreadSet {
  /** Nodes to be expanded, each with what is behind it. */
  readonly open: [GrammarNode, Continuation | null][] = [];
  readonly threads = new Set<Thread>();
  /** Nodes with their continuations that were expanded. */
  readonly seen = new Set<number>();
  isComplete = false;
}
