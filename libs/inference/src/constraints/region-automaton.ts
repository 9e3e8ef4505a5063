import { PlatformError } from '#common';
import type { RegionExit } from '../contract/output-region.js';
import { Automaton, type State } from './automaton.js';
import type { OpenNames, TextAutomaton, TextState } from './text-automaton.js';

/** A branch of a bound region, compiled. */
export interface BoundBranch {
  automaton: Automaton;
  /** Index of the region behind it; null: the text ends. */
  next: number | null;
}

/** A region with compiled texts; see `OutputRegion`. */
export type CompiledRegion =
  { type: 'free'; exits: readonly RegionExit[]; mayEnd: boolean } | { type: 'bound'; branches: readonly BoundBranch[] };

interface RegionState extends TextState {
  readonly region: number;
  /** Of a bound region: the branches that the text so far fits, each with its own state. */
  readonly live: readonly LiveBranch[];
  /** Of a free region: how much of each exit the text so far ends with. */
  readonly begun: readonly BegunExit[];
  /** Of a free region: whether only white space was read. */
  readonly isAtStart: boolean;
  /** By byte. */
  readonly successors: (RegionState | null | undefined)[];
  clipped: RegionState | null;
  /** Found when first asked for. */
  names: OpenNames | null;
}

interface LiveBranch {
  readonly branch: number;
  readonly state: State;
}

interface BegunExit {
  readonly exit: number;
  /** Bytes read of it. */
  readonly length: number;
}

interface ExitText {
  bytes: Uint8Array;
  next: number;
  isAtStart: boolean;
  entered: Uint8Array;
}

/** States of its own that one automaton may make before the sequence that makes the next one fails. */
const maxStates = 400_000;

const encoder = new TextEncoder();
const whiteSpace = new Set(encoder.encode(' \t\r\n'));

/** The indexes of exits by the byte with which they begin. */
function byFirstByte(exits: readonly ExitText[]): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const [index, { bytes }] of exits.entries()) {
    const [first = 0] = bytes;
    const known = found.get(first);
    if (known === undefined) found.set(first, [index]);
    else known.push(index);
  }
  return found;
}

/** Reads a text that is free in some stretches and follows a grammar in others. Shared by all requests with the same regions. */
export class RegionAutomaton implements TextAutomaton {
  readonly start: TextState;
  private readonly exits: readonly (readonly ExitText[])[];
  /** Of each region, the exits that begin with a byte: a region may have thousands. */
  private readonly exitsBy: readonly ReadonlyMap<number, readonly number[]>[];
  private readonly known = new Map<string, RegionState>();
  private readonly ids = new Map<State, number>();
  private readonly starts: RegionState[] = [];

  constructor(private readonly regions: readonly CompiledRegion[]) {
    this.exits = regions.map((region) =>
      region.type === 'bound'
        ? []
        : region.exits.map(({ text, next, atStart = false, entered = '' }) => ({
            bytes: encoder.encode(text),
            next,
            isAtStart: atStart,
            entered: encoder.encode(entered),
          })),
    );
    this.exitsBy = this.exits.map(byFirstByte);
    this.start = this.startOf(0);
  }

  get size(): number {
    return this.automata.reduce((sum, { size }) => sum + size, this.known.size);
  }

  get hasOpenNames(): boolean {
    return this.automata.some(({ hasOpenNames }) => hasOpenNames);
  }

  get hasListedNames(): boolean {
    return this.automata.some(({ hasListedNames }) => hasListedNames);
  }

  get hasDistinctItems(): boolean {
    return this.automata.some(({ hasDistinctItems }) => hasDistinctItems);
  }

  itemLists(at: TextState): ReadonlySet<object> {
    const state = at as RegionState;
    const branches = this.branchesOf(state);
    const lists = new Set<object>();
    for (const { branch, state: inner } of state.live) {
      for (const list of branches[branch]?.automaton.itemLists(inner) ?? []) lists.add(list);
    }
    return lists;
  }

  private get automata(): Automaton[] {
    const branches = this.regions.flatMap((region) => (region.type === 'bound' ? region.branches : []));
    return branches.map(({ automaton }) => automaton);
  }

  openNames(at: TextState): OpenNames {
    const state = at as RegionState;
    return (state.names ??= this.namesOf(state));
  }

  private namesOf(state: RegionState): OpenNames {
    const branches = this.branchesOf(state);
    const found = state.live.flatMap(({ branch, state: inner }) => branches[branch]?.automaton.openNames(inner) ?? []);
    const hasOthers = found.length === 0 || found.some((names) => names.hasOthers);
    return { names: found.flatMap(({ names }) => names), hasOthers };
  }

  openObjects(at: TextState): ReadonlySet<object> {
    const state = at as RegionState;
    const branches = this.branchesOf(state);
    const objects = new Set<object>();
    for (const { branch, state: inner } of state.live) {
      for (const object of branches[branch]?.automaton.openObjects(inner) ?? []) objects.add(object);
    }
    return objects;
  }

  next(at: TextState, byte: number): RegionState | null {
    const state = at as RegionState;
    const known = state.successors[byte];
    if (known !== undefined) return known;
    const region = this.regions[state.region];
    const successor = region?.type === 'bound' ? this.inside(state, region.branches, byte) : this.through(state, byte);
    state.successors[byte] = successor;
    return successor;
  }

  clip(at: TextState, limit: number): RegionState {
    const state = at as RegionState;
    if (state.clipped !== null) return state.clipped;
    const branches = this.branchesOf(state);
    const live = state.live.map(({ branch, state: inner }) => ({
      branch,
      state: branches[branch]?.automaton.clip(inner, limit) ?? inner,
    }));
    state.clipped = live.length === 0 ? state : this.bound(state.region, live);
    state.clipped.clipped = state.clipped;
    return state.clipped;
  }

  private branchesOf({ region: index }: RegionState): readonly BoundBranch[] {
    const region = this.regions[index];
    return region?.type === 'bound' ? region.branches : [];
  }

  private startOf(index: number): RegionState {
    const known = this.starts[index];
    if (known !== undefined) return known;
    const region = this.regions[index];
    if (region === undefined) throw new PlatformError('INFERENCE_FAILED', 'A region of the output leads nowhere.');
    const start =
      region.type === 'free'
        ? this.free(index, [], true)
        : this.bound(
            index,
            region.branches.map(({ automaton }, branch) => ({ branch, state: automaton.start })),
          );
    this.starts[index] = start;
    return start;
  }

  /** One byte on in a free region. Of exits that end together, the first one counts. */
  private through(state: RegionState, byte: number): RegionState {
    const exits = this.exits[state.region] ?? [];
    const begun = state.begun.filter(({ exit, length }) => exits[exit]?.bytes[length] === byte);
    const longer = begun.map(({ exit, length }) => ({ exit, length: length + 1 }));
    for (const exit of this.exitsBy[state.region]?.get(byte) ?? []) {
      if (state.isAtStart || exits[exit]?.isAtStart !== true) longer.push({ exit, length: 1 });
    }
    longer.sort((left, right) => left.exit - right.exit || left.length - right.length);
    const done = longer.find(({ exit, length }) => exits[exit]?.bytes.length === length);
    const exit = done && exits[done.exit];
    if (exit !== undefined) return this.behindExit(exit);
    return this.free(state.region, longer, state.isAtStart && whiteSpace.has(byte));
  }

  private behindExit({ next, entered }: ExitText): RegionState {
    let state: RegionState | null = this.startOf(next);
    for (const byte of entered) state &&= this.next(state, byte);
    if (state === null) throw new PlatformError('INFERENCE_FAILED', 'An exit of the output leads to no text.');
    return state;
  }

  /** One byte on in a bound region, or behind it where no branch goes on with the byte. */
  private inside(state: RegionState, branches: readonly BoundBranch[], byte: number): RegionState | null {
    const live = state.live.flatMap(({ branch, state: inner }) => {
      const next = branches[branch]?.automaton.next(inner, byte) ?? null;
      return next === null ? [] : [{ branch, state: next }];
    });
    if (live.length > 0) return this.behind(state.region, live);
    const complete = state.live.find(({ state: inner }) => inner.isComplete);
    const next = complete && branches[complete.branch]?.next;
    if (next === undefined || next === null) return null;
    return this.next(this.startOf(next), byte);
  }

  /** The state of these branches; the start of what follows where they have come to their one end. */
  private behind(region: number, live: readonly LiveBranch[]): RegionState {
    const state = this.bound(region, live);
    const [only] = live;
    if (only === undefined || live.length > 1 || !only.state.isComplete || only.state.threads.length > 0) return state;
    const next = this.branchesOf(state)[only.branch]?.next ?? null;
    return next === null ? state : this.startOf(next);
  }

  private free(region: number, begun: readonly BegunExit[], isAtStart: boolean): RegionState {
    const key = `${region}${isAtStart ? '^' : '-'}${begun.map(({ exit, length }) => `${exit}:${length}`).join()}`;
    return this.intern(key, () => {
      const current = this.regions[region];
      const mayEnd = current?.type === 'free' && current.mayEnd;
      return { region, live: [], begun, isAtStart, isComplete: mayEnd, isFree: true };
    });
  }

  private bound(region: number, live: readonly LiveBranch[]): RegionState {
    const key = `${region}|${live.map(({ branch, state }) => `${branch}:${this.idOf(state)}`).join()}`;
    return this.intern(key, () => ({
      region,
      live,
      begun: [],
      isAtStart: false,
      isComplete: live.some(({ branch, state }) => state.isComplete && this.mayEndBehind(region, branch)),
    }));
  }

  private mayEndBehind(index: number, branch: number): boolean {
    const region = this.regions[index];
    const next = region?.type === 'bound' ? (region.branches[branch]?.next ?? null) : null;
    return next === null || this.startOf(next).isComplete;
  }

  private idOf(state: State): number {
    const known = this.ids.get(state);
    if (known !== undefined) return known;
    this.ids.set(state, this.ids.size);
    return this.ids.size - 1;
  }

  private intern(key: string, make: () => Omit<RegionState, 'successors' | 'clipped' | 'names'>): RegionState {
    const known = this.known.get(key);
    if (known !== undefined) return known;
    if (this.known.size >= maxStates) {
      throw new PlatformError('INVALID_REQUEST', 'The tools or schemas lead to too many states for this output.');
    }
    const state: RegionState = { ...make(), successors: [], clipped: null, names: null };
    this.known.set(key, state);
    return state;
  }
}
