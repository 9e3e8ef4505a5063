import type { Candidates } from './best-few.js';

/** The tokens that may come next. */
export interface AllowedTokens {
  /** Bit `id` of tokens with which the text may go on: `bits[id >> 5] >> (id & 31) & 1`. Shared: not to be changed. */
  readonly bits: Uint32Array;
  /** Tokens that end the text; none while it is incomplete. */
  readonly endings: readonly number[];
  /** All tokens of `bits`, ascending, where they are few. */
  readonly few?: readonly number[] | null;
  /** All tokens of the vocabulary that are not in `bits`, where they are few. */
  readonly excluded?: readonly number[] | null;
  /** What was learned about these tokens, in all sequences. */
  readonly history?: MaskHistory;
}

/** How often the graph's best candidates did not decide among the tokens of one mask: 0 to 1, smoothed. */
export interface MaskHistory {
  /** Of draws, which also need the weight of all other tokens. */
  drawn: number;
  /** Of greedy choices, which only need one candidate that is allowed. */
  greedy: number;
}

/** What greedy choices are expected to miss before any was made, as measured with small models; see bench/notes/structured-output.md. */
const expectedGreedyMisses = { almostAll: 0.001, others: 0.03 };

/** The history of a mask that was never used; nothing is known about draws. */
export function newMaskHistory({ isAlmostAll }: { isAlmostAll: boolean }): MaskHistory {
  return { drawn: 1, greedy: isAlmostAll ? expectedGreedyMisses.almostAll : expectedGreedyMisses.others };
}

/** Maximum number of allowed tokens whose logits are fetched one by one; no more than a draw can sort. */
export const maxFew = 64;

/** Returns the allowed tokens, each once, where they are few; else null. */
export function candidatesOf({ bits, endings, few = null }: AllowedTokens): readonly number[] | null {
  if (few === null || endings.length === 0) return few;
  const all = [...few, ...endings.filter((id, index) => !hasBit(bits, id) && endings.indexOf(id) === index)];
  return all.length > maxFew ? null : all;
}

/** Follows the text of one sequence and says which tokens may come next. Each sequence has its own. */
export interface TokenConstraint {
  /** Never without any token. Throws a `PlatformError`, which fails this sequence alone. */
  allowed(): AllowedTokens;
  /** Whether any token may come next, as without a constraint. Throws as `allowed`. */
  isFree?(): boolean;
  /**
   * Works for some ms on the tokens that may come next; false where they are not known then, and it is to be called
   * again. The other calls do not wait: they do the rest of the work at once. Throws as `allowed`.
   */
  prepare?(sliceMs: number): boolean;
  /** Goes on by one of the allowed tokens that does not end the text. */
  accept(tokenId: number): void;
  /** Whether the text is complete and no token goes on with it. */
  isFinished(): boolean;
}

/** The tokens that may come next; null where all may. */
export function allowedBy(constraint: TokenConstraint | null | undefined): AllowedTokens | null {
  return !constraint || constraint.isFree?.() ? null : constraint.allowed();
}

export function isAllowed({ bits, endings }: AllowedTokens, tokenId: number): boolean {
  return hasBit(bits, tokenId) || endings.includes(tokenId);
}

/** Whether the set has the token: bit `id` of a row of 32-bit words. */
export function hasBit(bits: Uint32Array, tokenId: number): boolean {
  return (((bits[tokenId >> 5] ?? 0) >>> (tokenId & 31)) & 1) === 1;
}

let scratch = new Float32Array(0);

/** The logits with all other tokens at −∞. Valid until the next call. */
export function maskedLogits(logits: Float32Array, { bits, endings }: AllowedTokens): Float32Array {
  if (scratch.length !== logits.length) scratch = new Float32Array(logits.length);
  const masked = scratch.fill(-Infinity);
  const words = Math.min(bits.length, (logits.length + 31) >> 5);
  for (let word = 0; word < words; word++) {
    for (let rest = bits[word] as number; rest !== 0; rest &= rest - 1) {
      const id = (word << 5) + 31 - Math.clz32(rest & -rest);
      if (id < logits.length) masked[id] = logits[id] as number;
    }
  }
  for (const id of endings) if (id < logits.length) masked[id] = logits[id] as number;
  return masked;
}

/** Returns the allowed token with the highest logit, the lowest id of equal ones; −1 if none is a number above −∞. */
export function bestAllowed(logits: Float32Array, allowed: AllowedTokens): number {
  let best = -Infinity;
  let bestId = -1;
  forEachAllowed(logits.length, allowed, (id) => {
    const value = logits[id] as number;
    if (value > best || (value === best && id < bestId)) {
      best = value;
      bestId = id;
    }
    return true;
  });
  return bestId;
}

/** Fills `into` with all allowed tokens, best first; false, and unfinished, if there are more than `limit`. */
export function takeAllowed(logits: Float32Array, allowed: AllowedTokens, into: Candidates, limit: number): boolean {
  into.count = 0;
  return forEachAllowed(logits.length, allowed, (id) => {
    if (into.count === limit) return false;
    insert(into, id, logits[id] as number);
    return true;
  });
}

/** Fills `into` with these tokens, best first; `values` are their logits. */
export function takeFew(ids: readonly number[], values: Float32Array, into: Candidates): Candidates {
  into.count = 0;
  ids.forEach((id, index) => insert(into, id, values[index] as number));
  return into;
}

function insert(into: Candidates, id: number, value: number): void {
  const { ids, values } = into;
  let position = into.count++;
  const isBehind = (other: number): boolean =>
    (values[other] as number) < value || (values[other] === value && (ids[other] as number) > id);
  for (; position > 0 && isBehind(position - 1); position--) {
    values[position] = values[position - 1] as number;
    ids[position] = ids[position - 1] as number;
  }
  values[position] = value;
  ids[position] = id;
}

/** Visits each allowed token once, until `visit` returns false, which is returned. */
function forEachAllowed(size: number, { bits, endings }: AllowedTokens, visit: (id: number) => boolean): boolean {
  const words = Math.min(bits.length, (size + 31) >> 5);
  for (let word = 0; word < words; word++) {
    for (let rest = bits[word] as number; rest !== 0; rest &= rest - 1) {
      const id = (word << 5) + 31 - Math.clz32(rest & -rest);
      if (id < size && !visit(id)) return false;
    }
  }
  return endings.every((id) => id >= size || hasBit(bits, id) || visit(id));
}
