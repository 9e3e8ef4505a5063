import { type Automaton, buildAutomaton, startState, Unprovable } from './automaton.js';
import { parseExpression } from './parse-expression.js';

/** Why an expression may take more than linear time, with the text that makes it. */
export interface Ambiguity {
  reason: string;
  /** `prefix`, then `pump` many times, makes the number of ways to match grow. */
  prefix: string;
  pump: string;
}

/**
 * Returns null for an expression whose search takes time linear in the length of the text, whatever the text is.
 *
 * A backtracking search tries every run of its automaton at most once. The number of runs stays bounded if no text leads
 * a state to itself in two ways, and no text leads a state to itself, to another one, and that one to itself (Weber and
 * Seidl, On the degree of ambiguity of finite automata, 1991). The search for a beginning is a state of the automaton
 * that reads anything. A state after which the expression has matched whatever follows ends the search.
 */
export function findAmbiguity({ source, flags }: RegExp): Ambiguity | null {
  try {
    const automaton = buildAutomaton(parseExpression(source), flags);
    return new AmbiguityFinder(automaton).find();
  } catch (error) {
    if (!(error instanceof Unprovable)) throw error;
    return { reason: error.message, prefix: '', pump: '' };
  }
}

class AmbiguityFinder {
  /** Number of the loop that each state is in; -1 outside of loops. */
  private readonly loops: readonly number[];
  private readonly members: ReadonlyMap<number, readonly number[]>;
  private readonly reachable: readonly ReadonlySet<number>[];

  constructor(private readonly automaton: Automaton) {
    this.reachable = automaton.ends.map((_, state) => this.closure(state, () => true));
    this.loops = this.reachable.map((found, state) => {
      if (!found.has(state)) return -1;
      return Math.min(...[...found].filter((other) => this.reachable[other]?.has(state)));
    });
    const loops = [...new Set(this.loops)].filter((loop) => loop >= 0);
    const membersOf = (loop: number): number[] => this.loops.flatMap((each, state) => (each === loop ? [state] : []));
    this.members = new Map(loops.map((loop) => [loop, membersOf(loop)]));
  }

  find(): Ambiguity | null {
    return this.twoWaysAround() ?? this.loopAfterLoop();
  }

  /** A text that leads a state to itself in two ways: exponential time. */
  private twoWaysAround(): Ambiguity | null {
    const reason = 'one text has two ways around a loop';
    for (const [loop, members] of this.members) {
      if (!this.mayFail(members)) continue;
      const isWithin = this.within(loop);
      for (const state of members) {
        const twice = [...(this.automaton.ends[state] ?? [])].find(([to, ways]) => ways > 1 && isWithin(to));
        if (twice !== undefined) {
          const [to] = twice;
          const [symbol = 0] = this.automaton.symbols[to] ?? [];
          const back = to === state ? '' : (this.word([to], ([at]) => at === state, [isWithin]) ?? '');
          return this.ambiguity(reason, state, this.characterOf(symbol) + back);
        }
        const apart = this.word([state, state], ([left, right]) => left !== right, [isWithin, isWithin], state);
        if (apart !== null) return this.ambiguity(reason, state, apart);
      }
    }
    return null;
  }

  /**
   * A text that stays in one loop, leads to another, and stays there: quadratic time, or worse. Within one loop, it would
   * be a second way around.
   */
  private loopAfterLoop(): Ambiguity | null {
    const reason = 'one loop follows another that reads the same text';
    for (const [first, lefts] of this.members) {
      for (const [second, rights] of this.members) {
        if (first === second || !this.reachable[first]?.has(second) || !this.mayFail(rights)) continue;
        for (const left of lefts) {
          for (const right of rights) {
            const between = (other: number): boolean => this.reachable[other]?.has(right) === true;
            const isThere = ([a, b, c]: readonly number[]): boolean => a === left && b === right && c === right;
            const pump = this.word([left, left, right], isThere, [this.within(first), between, this.within(second)]);
            if (pump !== null) return this.ambiguity(reason, left, pump);
          }
        }
      }
    }
    return null;
  }

  /**
   * Whether a run may go around a loop for ever without passing a state after which the expression has matched. A run
   * that passes one ends the search, and tries at most one round more before that.
   */
  private mayFail(members: readonly number[]): boolean {
    const failing = new Set(members.filter((member) => !this.automaton.accepting.has(member)));
    return [...failing].some((member) => this.closure(member, (state) => failing.has(state)).has(member));
  }

  private within(loop: number): (state: number) => boolean {
    return (state) => this.loops[state] === loop;
  }

  private ambiguity(reason: string, state: number, pump: string): Ambiguity {
    const prefix = state === startState ? '' : (this.word([startState], ([at]) => at === state, [() => true]) ?? '');
    return { reason, prefix, pump };
  }

  /**
   * A text that moves several states at once from `from` to a place, each within its bounds; null if there is none. With
   * `home`, the place counts only if all return there.
   */
  private word(
    from: readonly number[],
    isThere: (states: readonly number[]) => boolean,
    bounds: readonly ((state: number) => boolean)[],
    home?: number,
  ): string | null {
    const texts = new Map<string, string>([[from.join(), '']]);
    const queue: (readonly number[])[] = [from];
    for (const states of queue) {
      const text = texts.get(states.join()) ?? '';
      for (const [next, symbol] of this.steps(states, bounds)) {
        const extended = text + this.characterOf(symbol);
        if (isThere(next)) {
          if (home === undefined) return extended;
          const isHome = (found: readonly number[]): boolean => found.every((state) => state === home);
          const back = isHome(next) ? '' : this.word(next, isHome, bounds);
          if (back !== null) return extended + back;
        }
        if (texts.has(next.join())) continue;
        texts.set(next.join(), extended);
        queue.push(next);
      }
    }
    return null;
  }

  private *steps(
    states: readonly number[],
    bounds: readonly ((state: number) => boolean)[],
  ): Generator<[number[], number]> {
    const { ends, symbols, characters } = this.automaton;
    for (let symbol = 0; symbol < characters.length; symbol += 1) {
      let tuples: number[][] = [[]];
      for (const [index, state] of states.entries()) {
        const targets = [...(ends[state]?.keys() ?? [])].filter(
          (to) => symbols[to]?.has(symbol) && bounds[index]?.(to),
        );
        tuples = tuples.flatMap((tuple) => targets.map((to) => [...tuple, to]));
        if (tuples.length === 0) break;
      }
      for (const tuple of tuples) yield [tuple, symbol];
    }
  }

  /** States that are reached from a state, through others that are of interest. */
  private closure(state: number, isOfInterest: (state: number) => boolean): Set<number> {
    const found = new Set<number>();
    const queue = [state];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      for (const to of this.automaton.ends[next]?.keys() ?? []) {
        if (found.has(to) || this.automaton.symbols[to]?.size === 0 || !isOfInterest(to)) continue;
        found.add(to);
        queue.push(to);
      }
    }
    return found;
  }

  private characterOf(symbol: number): string {
    return this.automaton.characters[symbol] ?? '';
  }
}
