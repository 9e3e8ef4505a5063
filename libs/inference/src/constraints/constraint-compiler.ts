import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { PlatformError } from '#common';
import { Automaton } from './automaton.js';
import { utf8Of } from './code-points.js';
import { atPlace, maxStepMs, takesTooLong, withDeadline } from './compile-deadline.js';
import { WorkTimer } from './work-timer.js';
import { compileEbnf } from './ebnf.js';
import { Grammar } from './grammar.js';
import { JsonGrammar } from './json-grammar.js';
import type { OutputConstraint } from '../contract/output-constraint.js';
import type { RelaxedKeyword } from '../contract/relaxed-keyword.js';
import { compileWholePattern } from './pattern.js';
import { type CompilePlace, ConstraintRefusal } from './refusal.js';
import { RefusedTime } from './refused-time.js';
import { RelaxedKeywords } from './relaxed-keywords.js';
import { type CompiledRegion, RegionAutomaton } from './region-automaton.js';
import { compileSchema, type StartedGrammar } from './schema/schema-compiler.js';
import type { TextAutomaton } from './text-automaton.js';
import { compilePart, inField, onlyField } from './text-part.js';
import { MaskCache, TokenMatcher } from './token-matcher.js';
import type { TokenTrie } from './token-trie.js';

/** A compiled constraint, shared by all requests that ask for it. */
export interface CompiledConstraint {
  /** For one choice; `endings` are the tokens that may end it. */
  newMatcher(endings: readonly number[]): TokenMatcher;
  /** What was left out of schemas that are not strict, by the fields of this request. */
  relaxed: readonly (RelaxedKeyword & { param: string })[];
  /** Counts its memory as in use until the returned function is called. */
  use(): () => void;
}

export interface ConstraintLimits {
  /** Time that one compilation may use, in ms. */
  budgetMs: number;
  /** How long it runs before the event loop turns, in ms. */
  sliceMs: number;
  /** Longest schema or pattern, in characters of its JSON. */
  maxLength: number;
  /** Constraints kept for later requests. */
  maxKept: number;
  /** Memory of those and of their masks. The one used last stays, however large. */
  maxKeptBytes: number;
  /** Memory of all, those of running requests too. Beyond it, those with more than an equal share stop growing. */
  maxBytes: number;
}

export const constraintLimits: ConstraintLimits = {
  budgetMs: 1_000,
  sliceMs: 4,
  maxLength: 1_000_000,
  maxKept: 64,
  maxKeptBytes: 256 * 2 ** 20,
  maxBytes: 768 * 2 ** 20,
};

/** Measured memory of one unit of `TextAutomaton.size`: states, threads and expressions with their tables. */
const bytesPerObject = 620;

/** Refusals that are remembered, and for how long in ms: a busy machine may have made one, so that none stays. */
const maxRefused = 256;
const refusedMs = 60_000;

/** States and expressions beyond which a constraint is compiled anew by the next request, to drop what no text reaches again. */
const maxKeptSize = 200_000;

interface Compiled {
  automaton: TextAutomaton;
  relaxed: readonly RelaxedKeyword[];
}

interface Kept {
  compiled: Promise<Compiled>;
  automaton: TextAutomaton | null;
  masks: MaskCache;
  /** Running requests. */
  users: number;
}

/**
 * Compiles the constraints of requests for one tokenizer, in slices between which the event loop turns: a slow schema
 * delays its own request. Keeps the most recently used ones with their masks.
 */
export class ConstraintCompiler {
  /** Least recently used first. */
  private readonly kept = new Map<string, Kept>();
  /** Those of running requests, kept or not. */
  private readonly used = new Set<Kept>();
  /** Oldest first. Apart from `kept`, so that refused constraints evict no others. */
  private readonly refused = new Map<string, { refusal: ConstraintRefusal; untilMs: number }>();
  private readonly refusedTime = new RefusedTime();
  private readonly limits: ConstraintLimits;
  /** The turn of the last slice. */
  private turns: Promise<void> = Promise.resolve();

  constructor(
    private readonly trie: TokenTrie,
    limits: Partial<ConstraintLimits> = {},
  ) {
    this.limits = { ...constraintLimits, ...limits };
  }

  /** Memory of the kept constraints and their masks, about. */
  get keptBytes(): number {
    return memoryOfAll(this.kept.values());
  }

  /** The same with those that only running requests hold. */
  get heldBytes(): number {
    return memoryOfAll(new Set([...this.kept.values(), ...this.used]));
  }

  /**
   * Rejects with `INVALID_REQUEST` for what cannot be compiled, naming the construct, and with `RATE_LIMIT_EXCEEDED` for
   * a caller whose constraints were refused after too much work. `caller` is a label of the account.
   */
  async compile(constraint: OutputConstraint, caller = ''): Promise<CompiledConstraint> {
    try {
      const kept = this.keptOrNew(constraint, caller);
      const { masks } = kept;
      const { automaton, relaxed } = await kept.compiled;
      return {
        newMatcher: (endings) => new TokenMatcher(automaton, masks, endings),
        // Requests that name the field differently share a constraint.
        relaxed: relaxed.map((keyword) => ({ ...keyword, param: keyword.param ?? constraint.param })),
        use: () => this.use(kept),
      };
    } catch (error) {
      const refusal = refusalOf(error);
      throw refusal === null ? error : refusalFor(constraint, refusal);
    }
  }

  private use(kept: Kept): () => void {
    kept.users++;
    this.used.add(kept);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      kept.users--;
      if (kept.users === 0) this.used.delete(kept);
    };
  }

  private keptOrNew(constraint: OutputConstraint, caller: string): Kept {
    const text = textOf(constraint);
    if (text.length > this.limits.maxLength) {
      throw new ConstraintRefusal(`is longer than ${this.limits.maxLength} characters`);
    }
    const key = digestOf(`${constraint.type} ${isStrictIn(constraint)} ${text}`);
    const refused = this.refused.get(key);
    if (refused !== undefined && refused.untilMs > performance.now()) throw refused.refusal;
    const known = this.kept.get(key);
    this.kept.delete(key);
    const kept = known && (known.automaton?.size ?? 0) <= maxKeptSize ? known : this.start(constraint, { key, caller });
    this.kept.set(key, kept);
    this.evict();
    return kept;
  }

  /** Drops the least recently used ones. Running requests keep what they use until they end. */
  private evict(): void {
    const { maxKept, maxKeptBytes } = this.limits;
    let bytes = this.keptBytes;
    for (const [key, kept] of this.kept) {
      if (this.kept.size <= 1 || (this.kept.size <= maxKept && bytes <= maxKeptBytes)) return;
      this.kept.delete(key);
      bytes -= memoryOf(kept);
    }
  }

  /** Throws if too much is in use, for those that take more than their share: others go on beside them. */
  private grown(kept: Kept): void {
    this.evict();
    const { maxBytes } = this.limits;
    if (memoryOf(kept) <= maxBytes / Math.max(1, this.used.size) || this.heldBytes <= maxBytes) return;
    const text = 'The schema leads to more states for this output than there is memory for beside other requests.';
    throw new PlatformError('INVALID_REQUEST', text);
  }

  private start(constraint: OutputConstraint, { key, caller }: { key: string; caller: string }): Kept {
    this.refusedTime.check(caller);
    let usedMs = 0;
    const onWork = (ms: number): void => void (usedMs += ms);
    // Texts reach new states, and need new masks, long after the constraint was compiled.
    const masks = new MaskCache(this.trie, { onGrowth: () => this.grown(kept) });
    const kept: Kept = { automaton: null, compiled: this.run(constraint, masks, onWork), masks, users: 0 };
    kept.compiled.then(
      ({ automaton }) => (kept.automaton = automaton),
      (error) => {
        if (this.kept.get(key) === kept) this.kept.delete(key);
        const refusal = refusalOf(error);
        if (refusal === null) return;
        this.remember(key, refusal);
        this.refusedTime.add(caller, usedMs);
      },
    );
    return kept;
  }

  /** A schema that takes the whole budget would else take it again with each request. */
  private remember(key: string, refusal: ConstraintRefusal): void {
    this.refused.delete(key);
    this.refused.set(key, { refusal, untilMs: performance.now() + refusedMs });
    const [oldest] = this.refused.keys();
    if (oldest !== undefined && this.refused.size > maxRefused) this.refused.delete(oldest);
  }

  /** One slice per turn of the event loop, in the order of the compilations, however many there are. */
  private nextTurn(): Promise<void> {
    this.turns = this.turns.then(() => setImmediate());
    return this.turns;
  }

  private async run(constraint: OutputConstraint, masks: MaskCache, onWork: (ms: number) => void): Promise<Compiled> {
    // Behind the return of `compile`: the request must not wait in the turn that brought it.
    await this.nextTurn();
    const relaxed = new RelaxedKeywords();
    const work = startedAutomaton(constraint, masks, relaxed);
    let place: CompilePlace = { pointer: '' };
    for (let usedMs = 0; ;) {
      const timer = new WorkTimer();
      const leftMs = this.limits.budgetMs - usedMs;
      const { sliceMs } = this.limits;
      // A single step may be long, and every other request waits for it.
      const limits = { sliceMs, limitMs: Math.min(leftMs, sliceMs + maxStepMs) };
      try {
        const automaton = withDeadline({ ...limits, timer, place: () => place }, () => {
          do {
            const step = work.next();
            if (step.done) return step.value;
            place = step.value;
            if (timer.exceeds(leftMs)) throw takesTooLong(place);
          } while (timer.elapsedMs < sliceMs);
          return null;
        });
        if (automaton !== null) return { automaton, relaxed: relaxed.all };
      } finally {
        const { ms } = timer;
        usedMs += ms;
        onWork(ms);
      }
      await this.nextTurn();
    }
  }
}

function isStrictIn(constraint: OutputConstraint): boolean {
  return constraint.type === 'json-schema' && (constraint.isStrict ?? true);
}

/**
 * The text by which a constraint is known, and whose length is bounded. A schema in several places is written once, and
 * the exits of a region, which are long with many tools and cost little, as their digest.
 */
function textOf(constraint: OutputConstraint): string {
  if (constraint.type !== 'regions') {
    return JSON.stringify(constraint.type === 'json-schema' ? constraint.schema : constraint) ?? '';
  }
  const regions = constraint.regions.map((region) =>
    region.type === 'bound' ? region : { ...region, exits: digestOf(JSON.stringify(region.exits)) },
  );
  const places = new Map<unknown, number>();
  return JSON.stringify(regions, (_name, value: unknown) => {
    if (!isSchemaPart(value)) return value;
    const place = places.get(value);
    if (place !== undefined) return { place };
    places.set(value, places.size);
    return value;
  });
}

function isSchemaPart(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('param' in value)) return false;
  return value.type === 'json-schema' || value.type === 'json-string';
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function memoryOfAll(all: Iterable<Kept>): number {
  let bytes = 0;
  for (const kept of all) bytes += memoryOf(kept);
  return bytes;
}

function memoryOf({ automaton, masks }: Kept): number {
  return (automaton?.size ?? 0) * bytesPerObject + masks.bytes;
}

/** With the first mask, which may be as slow as all before it. */
function* startedAutomaton(
  constraint: OutputConstraint,
  masks: MaskCache,
  relaxed: RelaxedKeywords,
): Generator<CompilePlace, TextAutomaton> {
  const automaton = yield* automatonFor(constraint, relaxed);
  const { start } = automaton;
  let first = masks.find(automaton, start);
  while ((first ??= masks.advance(automaton, start)) === null) yield { pointer: '' };
  if (!start.isComplete && first.isEmpty) {
    throw new ConstraintRefusal('no token of this model begins such a text');
  }
  return automaton;
}

/** Yields the place that it has reached. */
function* automatonFor(constraint: OutputConstraint, relaxed: RelaxedKeywords): Generator<CompilePlace, TextAutomaton> {
  if (constraint.type !== 'regions') return yield* automatonOf(grammarOf(constraint, relaxed));
  const regions: CompiledRegion[] = [];
  for (const region of constraint.regions) {
    if (region.type === 'free') {
      regions.push(region);
      continue;
    }
    const branches = [];
    for (const { text, next } of region.branches) {
      branches.push({ automaton: yield* inField(onlyField(text), automatonOf(compilePart(text, relaxed))), next });
    }
    regions.push({ type: 'bound', branches });
  }
  const texts = constraint.regions.flatMap((region) => (region.type === 'free' ? [] : region.branches));
  yield { pointer: '', ...onlyField({ type: 'choice', parts: texts.map(({ text }) => text) }) };
  return new RegionAutomaton(regions);
}

function* automatonOf(work: Generator<CompilePlace, StartedGrammar>): Generator<CompilePlace, Automaton> {
  const { grammar, start } = yield* work;
  return yield* atPlace({ pointer: '' }, Automaton.open(grammar, start));
}

type SimpleConstraint = Exclude<OutputConstraint, { type: 'regions' }>;

function* grammarOf(constraint: SimpleConstraint, relaxed: RelaxedKeywords): Generator<CompilePlace, StartedGrammar> {
  if (constraint.type === 'json-schema') {
    const { schema, isStrict } = constraint;
    return yield* compileSchema(schema, { isStrict, onRelaxed: (note) => relaxed.add(null, note) });
  }
  if (constraint.type === 'grammar') return yield* compileEbnf(constraint.grammar);
  const grammar = new Grammar();
  if (constraint.type === 'json-object') {
    const json = new JsonGrammar(grammar);
    const start = grammar.sequence(grammar.lexeme(json.around()), json.anyObject());
    yield* atPlace({ pointer: '' }, grammar.finish(start));
    return { grammar, start };
  }
  const start = grammar.lexeme(compileWholePattern(grammar.arena, constraint.pattern, utf8Of));
  yield* atPlace({ pointer: '' }, grammar.finish(start));
  return { grammar, start };
}

function refusalOf(error: unknown): ConstraintRefusal | null {
  // The stack ended: a value or schema within thousands of others.
  if (error instanceof RangeError) return new ConstraintRefusal('is nested too deeply');
  return error instanceof ConstraintRefusal ? error : null;
}

function refusalFor(
  { type, param }: OutputConstraint,
  { reason, pointer, param: ownParam, subject }: ConstraintRefusal,
): PlatformError {
  const what = subject ?? (type === 'regex' ? 'pattern' : type === 'grammar' ? 'grammar' : 'schema');
  const isPointer = pointer.startsWith('/');
  const place = pointer === '' ? '' : ` at ${isPointer ? '#' : ''}${pointer}`;
  return new PlatformError('INVALID_REQUEST', `The ${what} is not supported${place}: ${reason}.`, ownParam ?? param);
}
