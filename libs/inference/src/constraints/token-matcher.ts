import { PlatformError } from '#common';
import type { AllowedTokens, TokenConstraint } from '../sampling/token-constraint.js';
import { maxStepMs, withDeadline } from './compile-deadline.js';
import { type KnownMask, MaskWork } from './mask-work.js';
import { type CompilePlace, ConstraintRefusal } from './refusal.js';
import type { TextAutomaton, TextState } from './text-automaton.js';
import type { TokenTrie } from './token-trie.js';
import { UniqueItems } from './unique-items.js';
import { UniqueNames } from './unique-names.js';
import { WorkTimer } from './work-timer.js';

/** How long the masks of one choice may take. */
export interface MaskBudget {
  /** Of one mask, in ms. */
  maxMs: number;
  /** Of all masks of a text, in ms: a part for any text and one for each token of it. */
  textMs: number;
  tokenMs: number;
  /** Of what cannot be interrupted, such as the next state, in ms. */
  stepMs: number;
}

export const maskBudget: MaskBudget = { maxMs: 500, textMs: 4_000, tokenMs: 10, stepMs: maxStepMs };

/** Default bound of one grammar's masks; those used last are kept in any case. */
const defaultMaxBytes = 64 * 2 ** 20;
const minKeptMasks = 16;

/** Masks in the making that are kept: those of running rows, and a few of rows that ended meanwhile. */
const maxPending = 64;

/** Tokens of a text between two looks at the memory. */
const acceptsPerCheck = 16;

/** Masks of one grammar, least recently used out first. */
export class MaskCache {
  private readonly known = new Map<TextState, KnownMask>();
  /** Those that are not made yet; least recently begun first. */
  private readonly pending = new Map<TextState, MaskWork>();
  /** Memory of the masks. */
  bytes = 0;

  /** `onGrowth` is called behind each new mask, and by `checkGrowth`. What it throws fails the sequence that grew. */
  constructor(
    readonly trie: TokenTrie,
    private readonly options: { maxBytes?: number; onGrowth?: () => void } = {},
  ) {}

  /** The tokens with which a text may go on from the state; null where they are not known yet. */
  find(automaton: TextAutomaton, state: TextState): KnownMask | null {
    const key = this.keyOf(automaton, state);
    const known = this.known.get(key);
    if (known === undefined) return null;
    this.known.delete(key);
    this.known.set(key, known);
    return known;
  }

  /** Works on them; null where the slice was over before they were found: the next call goes on. */
  advance(automaton: TextAutomaton, state: TextState): KnownMask | null {
    const key = this.keyOf(automaton, state);
    const work = this.pending.get(key) ?? new MaskWork(this.trie, automaton, key);
    this.pending.delete(key);
    const mask = work.advance();
    if (mask === null) this.keepPending(key, work);
    else this.keep(key, mask);
    return mask;
  }

  /** Tokens are shorter than this limit, so both states offer the same ones. */
  private keyOf(automaton: TextAutomaton, state: TextState): TextState {
    return automaton.clip(state, this.trie.longestToken + 1);
  }

  private keepPending(key: TextState, work: MaskWork): void {
    this.pending.set(key, work);
    const [oldest] = this.pending.keys();
    if (oldest !== undefined && this.pending.size > maxPending) this.pending.delete(oldest);
  }

  private keep(key: TextState, mask: KnownMask): void {
    this.known.set(key, mask);
    this.bytes += bytesOf(mask);
    this.shrink();
    this.checkGrowth();
  }

  checkGrowth(): void {
    this.options.onGrowth?.();
  }

  private shrink(): void {
    const { maxBytes = defaultMaxBytes } = this.options;
    for (const [key, mask] of this.known) {
      if (this.bytes <= maxBytes || this.known.size <= minKeptMasks) return;
      this.known.delete(key);
      this.bytes -= bytesOf(mask);
    }
  }
}

/** The constraint of one choice: an automaton and where in it the choice is. */
export class TokenMatcher implements TokenConstraint {
  private state: TextState;
  /** Of the state. */
  private known: KnownMask | null = null;
  /** The same without tokens that would repeat a name. */
  private narrowed: AllowedTokens | null = null;
  private readonly names: UniqueNames | null;
  private readonly items: UniqueItems | null;
  private accepted = 0;
  /** Time that masks took, in ms: of the state, and of all states. */
  private maskMs = 0;
  private textMs = 0;

  constructor(
    private readonly automaton: TextAutomaton,
    private readonly masks: MaskCache,
    /** Tokens that end a text. */
    private readonly endings: readonly number[],
    private readonly budget = maskBudget,
  ) {
    this.state = automaton.start;
    this.names = automaton.hasOpenNames ? new UniqueNames(automaton, masks.trie) : null;
    this.items = automaton.hasDistinctItems ? new UniqueItems(automaton, masks.trie) : null;
  }

  prepare(sliceMs: number): boolean {
    return this.known !== null || this.slice(sliceMs) !== null;
  }

  isFree(): boolean {
    const { isComplete, isFree = false } = this.state;
    return isFree && isComplete && this.mask().isFull;
  }

  allowed(): AllowedTokens {
    return (this.narrowed ??= this.narrow());
  }

  private narrow(): AllowedTokens {
    const { mask, isEmpty, few, excluded, history } = this.mask();
    const endings = this.state.isComplete ? this.endings : [];
    const all = { bits: mask, endings, few, excluded: endings.length > 0 ? null : excluded, history };
    const narrowed = this.withoutRepeating(all);
    if (endings.length === 0 && (isEmpty || (narrowed !== all && narrowed.bits.every((word) => word === 0)))) {
      throw new PlatformError(
        'INFERENCE_FAILED',
        'No token of this model goes on with the text that the schema demands.',
      );
    }
    return narrowed;
  }

  private withoutRepeating(all: AllowedTokens): AllowedTokens {
    const { names, items } = this;
    if (names === null && items === null) return all;
    const timer = new WorkTimer();
    const repeating = this.withinLimits(this.budget.maxMs, () => {
      const found = names?.repeating(this.state, all.bits) ?? new Set<number>();
      for (const id of items?.repeating(this.state, all.bits) ?? []) found.add(id);
      return found;
    });
    this.spend(timer.ms);
    if (repeating.size === 0) return all;
    const bits = all.bits.slice();
    for (const id of repeating) bits[id >> 5] = (bits[id >> 5] ?? 0) & ~(1 << (id & 31));
    const excluded = all.excluded && [...all.excluded, ...repeating].sort((left, right) => left - right);
    return { ...all, bits, few: all.few?.filter((id) => !repeating.has(id)) ?? null, excluded };
  }

  isFinished(): boolean {
    return this.state.isComplete && this.mask().isEmpty;
  }

  accept(tokenId: number): void {
    this.known = null;
    this.narrowed = null;
    this.maskMs = 0;
    for (const byte of this.masks.trie.tokenBytes[tokenId] ?? []) {
      const next = this.withinLimits(0, () => this.next(byte));
      if (next === null) throw new PlatformError('INFERENCE_FAILED', 'A token outside of the grammar was chosen.');
      this.state = next;
    }
    // Masks are shared by many states, so that a text may reach new states without any new mask.
    this.accepted++;
    if (this.accepted % acceptsPerCheck === 0) this.masks.checkGrowth();
  }

  private next(byte: number): TextState | null {
    const next = this.automaton.next(this.state, byte);
    if (next !== null) {
      this.names?.read(this.state, byte, next);
      this.items?.read(this.state, byte, next);
    }
    return next;
  }

  private mask(): KnownMask {
    if (this.known !== null) return this.known;
    for (;;) {
      const mask = this.slice(this.budget.maxMs);
      if (mask !== null) return mask;
    }
  }

  /** Works on the mask of the state for a while; null where it is not made then. */
  private slice(sliceMs: number): KnownMask | null {
    this.known = this.withinLimits(sliceMs, () => this.masks.find(this.automaton, this.state));
    if (this.known !== null) return this.known;
    const timer = new WorkTimer();
    this.known = this.withinLimits(sliceMs, () => this.masks.advance(this.automaton, this.state));
    this.spend(timer.ms);
    return this.known;
  }

  private spend(ms: number): void {
    this.maskMs += ms;
    this.textMs += ms;
    const { maxMs, textMs, tokenMs } = this.budget;
    if (this.maskMs <= maxMs && this.textMs <= textMs + tokenMs * this.accepted) return;
    throw new PlatformError('INVALID_REQUEST', 'The schema is too ambiguous: choosing tokens by it takes too long.');
  }

  /** A state may turn out too large only when a text has reached it; then the request fails, and it alone. */
  private withinLimits<Result>(sliceMs: number, work: () => Result): Result {
    try {
      return withDeadline({ sliceMs, limitMs: sliceMs + this.budget.stepMs, place: nowhere }, work);
    } catch (error) {
      // The stack ended: an expression within thousands of others.
      const reason = error instanceof RangeError ? 'it is nested too deeply' : null;
      if (reason === null && !(error instanceof ConstraintRefusal)) throw error;
      throw new PlatformError(
        'INVALID_REQUEST',
        `The schema is too large for this output: ${reason ?? (error as ConstraintRefusal).reason}.`,
      );
    }
  }
}

/** With an estimate for the objects around the arrays. */
function bytesOf({ mask, few, excluded }: KnownMask): number {
  return mask.byteLength + ((few?.length ?? 0) + (excluded?.length ?? 0)) * 8 + 400;
}

const nowhere = (): CompilePlace => ({ pointer: '' });
