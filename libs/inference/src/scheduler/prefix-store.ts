import { windowCacheLimits } from '#model-memory';
import type { CacheRow, Decoder } from './decoder.js';

/** Who may copy a prefix. */
export interface PrefixScope {
  /** Prefixes of one label may be copied whole by prompts of the same label; absent: of others without one. */
  label?: string;
  /** Leading tokens that are the platform's own (template, default system prompt), which every prompt may copy. */
  sharedTokens: number;
  /** Weights that computed it; absent: those of the base. Nothing is copied between two. */
  adapter?: number;
}

/** A row and the ids of its keys and values. */
export interface CachedPrefix {
  scope: PrefixScope;
  row: CacheRow;
  ids: Int32Array;
  /** Number of leading positions that equal a computation from scratch bit by bit. */
  exactLength: number;
  /** Monotonic time until which entries without a later one are evicted first; absent: none. */
  keepUntilMs?: number;
}

/** Rule for prefixes that a prompt may copy. */
export interface ReuseRule {
  /** Lengths are multiples of this. */
  grain: number;
  /** Requires values that equal a computation from scratch bit by bit. */
  isExact: boolean;
  /** Returns the largest length up to this one at which a prompt may be cut; absent: any. */
  align?: (length: number) => number;
}

/** Part of a prompt that a row already contains. */
export interface FoundPrefix {
  entry: CachedPrefix;
  length: number;
}

/** A common prefix shorter than this is recomputed rather than copied, kept or waited for. */
export const minimumReuse = 16;

/** Maximum number of entries, because every prompt is compared with all of them. */
const maxEntries = windowCacheLimits.finishedRows;

/** Rows of finished sequences, least recently used first. Sizes count in tokens. */
export class PrefixStore {
  private readonly entries: CachedPrefix[] = [];
  tokens = 0;

  constructor(private readonly decoder: Decoder) {}

  list(): readonly CachedPrefix[] {
    return this.entries;
  }

  /** Takes ownership of the row. Removes older entries of its scope that are a prefix of the new one. */
  add(entry: CachedPrefix): void {
    for (const older of [...this.entries]) {
      if (sharedLength(older.scope, entry.scope) !== Infinity) continue;
      if (commonPrefix(older.ids, entry.ids, older.ids.length) !== older.ids.length) continue;
      entry.keepUntilMs = Math.max(entry.keepUntilMs ?? 0, older.keepUntilMs ?? 0);
      this.remove(older);
    }
    this.entries.push(entry);
    this.tokens += entry.row.length;
    const victim = this.victim();
    if (victim && this.entries.length > maxEntries) this.remove(victim);
  }

  /** Marks an entry as just used; unknown entries are ignored. */
  touch(entry: CachedPrefix): void {
    const index = this.entries.indexOf(entry);
    if (index < 0) return;
    this.entries.splice(index, 1);
    this.entries.push(entry);
  }

  /** Evicts the least recently used entries until at most `tokens` remain. */
  shrinkTo(tokens: number): void {
    while (this.tokens > tokens) {
      const victim = this.victim();
      if (!victim) return;
      this.remove(victim);
    }
  }

  /**
   * The least recently used entry that is not to be kept. While entries to keep hold more than half of the tokens,
   * the least recently used of all: a caller cannot keep the cache from the others.
   */
  private victim(): CachedPrefix | undefined {
    const nowMs = performance.now();
    const isKept = ({ keepUntilMs = 0 }: CachedPrefix): boolean => keepUntilMs > nowMs;
    const kept = this.entries.reduce((sum, entry) => sum + (isKept(entry) ? entry.row.length : 0), 0);
    const free = kept * 2 > this.tokens ? undefined : this.entries.find((entry) => !isKept(entry));
    return free ?? this.entries[0];
  }

  private remove(entry: CachedPrefix): void {
    this.entries.splice(this.entries.indexOf(entry), 1);
    this.tokens -= entry.row.length;
    this.decoder.release(entry.row);
  }
}

/**
 * Returns the row with the longest prefix of `prompt` that is worth a copy, or null. The prompt's last token never
 * counts, because its logits are needed.
 */
export function longestPrefix(
  { keys: prompt, scope }: { keys: Int32Array; scope: PrefixScope },
  entries: Iterable<CachedPrefix>,
  { grain, isExact, align = (length) => length }: ReuseRule,
): FoundPrefix | null {
  let found: FoundPrefix | null = null;
  for (const entry of entries) {
    const exact = isExact ? entry.exactLength : Infinity;
    // Decided before any token is compared: what another scope holds can change neither a count nor the time.
    const reusable = Math.min(exact, entry.row.reusableLength, sharedLength(scope, entry.scope));
    const shared = commonPrefix(prompt, entry.ids, Math.min(reusable, prompt.length - 1));
    const length = copyableLength(entry.row, shared, (most) => wholeLength(most, grain, align));
    if (length >= minimumReuse && length > (found?.length ?? 0)) found = { entry, length };
  }
  return found;
}

/** Returns the largest length up to `wanted` that can be copied from the row and that `round` leaves as it is. */
function copyableLength(row: CacheRow, wanted: number, round: (length: number) => number): number {
  let length = round(wanted);
  for (let copyable = row.copyableLength(length); copyable < length; copyable = row.copyableLength(length)) {
    length = round(copyable);
  }
  return length;
}

/** Returns the largest multiple of `grain` up to `wanted` at which a prompt may be cut. */
function wholeLength(wanted: number, grain: number, align: (length: number) => number): number {
  let length = wanted - (wanted % grain);
  for (let aligned = align(length); aligned < length; aligned = align(length)) length = aligned - (aligned % grain);
  return length;
}

/** Returns how many leading tokens prompts of two scopes may share. */
export function sharedLength(one: PrefixScope, other: PrefixScope): number {
  if ((one.adapter ?? 0) !== (other.adapter ?? 0)) return 0;
  return one.label === other.label ? Infinity : Math.min(one.sharedTokens, other.sharedTokens);
}

/** Returns the length of the longest common prefix, at most `limit`. */
export function commonPrefix(left: Int32Array, right: Int32Array, limit: number): number {
  const end = Math.min(left.length, right.length, limit);
  let length = 0;
  while (length < end && left[length] === right[length]) length++;
  return length;
}
