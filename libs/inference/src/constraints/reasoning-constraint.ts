import { allowedBy, type AllowedTokens, isAllowed, type TokenConstraint } from '../sampling/token-constraint.js';
import { isBlankByte, type ReasoningTokens } from './reasoning-tokens.js';

/** Most bytes of white space between a block and an answer with a grammar. */
const longestGap = 4;

export interface ReasoningConstraintOptions {
  /** The prompt has opened the block. */
  startsInside: boolean;
  /** Tokens of reasoning after which its block is closed by force; null: none. */
  budget: number | null;
  /** Makes the constraint of the answer; null: the answer is free. */
  newAnswer: (() => TokenConstraint) | null;
  /** Tokens at which the caller stops and which have no text. They do not end a text that must be complete. */
  rawStops?: readonly number[];
}

/** A delimiter that the text in front of the answer may turn out to be. */
interface Candidate {
  delimiter: Uint8Array;
  position: number;
}

/**
 * Lets a text reason before it answers: free text up to the end of the block, which is closed by force when the budget is
 * used up, then the constraint of the answer. Blocks are recognized where `ReasoningScanner` recognizes them. Where a
 * grammar governs the answer, the text may begin with a block or at once with the answer, and must not end before it.
 */
export class ReasoningConstraint implements TokenConstraint {
  private phase: 'front' | 'inside' | 'answer';
  private candidates: Candidate[];
  private answer: TokenConstraint | null;
  /** Whether the text in front may be the beginning of the answer. */
  private isAnswer = true;
  /** Bytes of the closing delimiter that the reasoning ends with. */
  private matched = 0;
  private usedTokens = 0;
  /** Tokens of the closing delimiter that were fed by force; null: it is not closed by force. */
  private forcedSteps: number | null = null;
  /** Bytes missing from the last character: a block is not cut within one. */
  private missingBytes = 0;
  /** Bytes of white space that may still stand in front of the answer. */
  private gap = 0;

  constructor(
    private readonly tokens: ReasoningTokens,
    private readonly options: ReasoningConstraintOptions,
  ) {
    this.answer = options.newAnswer?.() ?? null;
    this.phase = options.startsInside ? 'inside' : 'front';
    this.candidates = this.newCandidates();
    this.closeIfDue();
  }

  prepare(sliceMs: number): boolean {
    return this.answer?.prepare?.(sliceMs) ?? true;
  }

  allowed(): AllowedTokens {
    return this.mask() ?? this.tokens.all;
  }

  isFree(): boolean {
    return this.mask() === null;
  }

  accept(tokenId: number): void {
    const bytes = this.tokens.bytesOf(tokenId);
    if (this.phase === 'answer') return this.acceptAnswer(tokenId, bytes);
    if (this.phase === 'front') this.offerToAnswer(tokenId);
    else this.usedTokens++;
    if (this.forcedSteps !== null) this.forcedSteps++;
    for (const byte of bytes) this.read(byte);
    this.closeIfDue();
  }

  isFinished(): boolean {
    return this.phase === 'answer' && (this.answer?.isFinished() ?? false);
  }

  /** Null where all tokens may come next. */
  private mask(): AllowedTokens | null {
    if (this.phase === 'front') return this.allowedInFront();
    if (this.phase === 'inside') return this.allowedInside();
    const allowed = allowedBy(this.answer);
    return allowed === null || this.gap === 0 ? allowed : union(allowed, [this.tokens.blankUpTo(this.gap)]);
  }

  private allowedInFront(): AllowedTokens | null {
    if (this.answer === null) return null;
    const ways = this.candidates.map(({ delimiter, position }) => this.tokens.goingOn(delimiter, position));
    if (!this.isAnswer) return union({ bits: new Uint32Array(0), endings: [] }, ways);
    const allowed = allowedBy(this.answer);
    return allowed === null ? null : union(allowed, ways);
  }

  private allowedInside(): AllowedTokens | null {
    const forced = this.forcedSteps === null ? null : this.tokens.forcedAt(this.forcedSteps);
    if (forced !== null) return forced;
    const first = allowedBy(this.answer);
    // The answer is free to be empty, or to be anything.
    if (first === null || first.endings.length > 0) return null;
    const bits = this.tokens.inside(this.matched);
    const { rawStops = [] } = this.options;
    return { bits: rawStops.length === 0 ? bits : without(bits, rawStops), endings: [] };
  }

  private acceptAnswer(tokenId: number, bytes: Uint8Array): void {
    if (this.answer === null) return;
    if (this.gap > 0 && bytes.length > 0 && bytes.length <= this.gap && bytes.every(isBlankByte)) {
      this.gap -= bytes.length;
      return;
    }
    this.gap = 0;
    this.answer.accept(tokenId);
  }

  /** The text in front of a block is read as the beginning of the answer too, as long as it can be. */
  private offerToAnswer(tokenId: number): void {
    if (this.answer === null || !this.isAnswer) return;
    const allowed = allowedBy(this.answer);
    this.isAnswer = allowed === null || isAllowed(allowed, tokenId);
    if (this.isAnswer) this.answer.accept(tokenId);
  }

  private read(byte: number): void {
    if (this.phase === 'front') this.readFront(byte);
    else if (this.phase === 'inside') this.readInside(byte);
    else if (this.gap > 0 && isBlankByte(byte)) this.gap--;
  }

  private readFront(byte: number): void {
    const isUntouched = this.candidates.every(({ position }) => position === 0);
    if (isUntouched && isBlankByte(byte)) return;
    this.candidates = this.candidates
      .filter(({ delimiter, position }) => delimiter[position] === byte)
      .map(({ delimiter, position }) => ({ delimiter, position: position + 1 }));
    const complete = this.candidates.find(({ delimiter, position }) => position === delimiter.length);
    if (complete !== undefined) this.enter(complete.delimiter === this.tokens.open ? 'inside' : 'answer');
    else if (this.candidates.length === 0) this.phase = 'answer';
  }

  private readInside(byte: number): void {
    this.missingBytes = missingAfter(this.missingBytes, byte);
    this.matched = this.tokens.closing(this.matched, byte);
    if (this.matched < this.tokens.close.length) return;
    this.enter(this.answer === null ? 'front' : 'answer');
    this.gap = this.answer === null ? 0 : longestGap;
  }

  /** A delimiter is complete: what follows begins anew. */
  private enter(phase: 'front' | 'inside' | 'answer'): void {
    this.phase = phase;
    this.matched = 0;
    this.missingBytes = 0;
    this.forcedSteps = null;
    this.candidates = this.newCandidates();
    this.answer = this.options.newAnswer?.() ?? null;
    this.isAnswer = true;
  }

  private closeIfDue(): void {
    const { budget } = this.options;
    if (this.phase !== 'inside' || this.forcedSteps !== null || budget === null) return;
    if (this.usedTokens >= budget && this.missingBytes === 0) this.forcedSteps = 0;
  }

  private newCandidates(): Candidate[] {
    const { open, answer } = this.tokens;
    return (answer === null ? [open] : [open, answer]).map((delimiter) => ({ delimiter, position: 0 }));
  }
}

function union({ bits, endings }: AllowedTokens, more: readonly Uint32Array[]): AllowedTokens {
  const all = new Uint32Array(Math.max(bits.length, ...more.map(({ length }) => length)));
  for (const some of [bits, ...more]) {
    for (let word = 0; word < some.length; word++) all[word] = (all[word] as number) | (some[word] as number);
  }
  return { bits: all, endings };
}

function without(bits: Uint32Array, ids: readonly number[]): Uint32Array {
  const copy = bits.slice();
  for (const id of ids) if (id >> 5 < copy.length) copy[id >> 5] = (copy[id >> 5] as number) & ~(1 << (id & 31));
  return copy;
}

/** Bytes that a UTF-8 text lacks for a whole character, after one more byte. */
function missingAfter(missing: number, byte: number): number {
  if (missing > 0 && (byte & 0xc0) === 0x80) return missing - 1;
  if (byte >= 0xf0) return 3;
  if (byte >= 0xe0) return 2;
  return byte >= 0xc0 ? 1 : 0;
}
