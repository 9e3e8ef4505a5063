import type { CacheRow, Decoder } from './decoder.js';

/** A row and the ids of its keys and values. */
export interface CachedPrefix {
  row: CacheRow;
  ids: Int32Array;
  /** Number of leading positions that equal a computation from scratch bit by bit. */
  exactLength: number;
}

/** Rule for prefixes that a prompt may copy. */
export interface ReuseRule {
  /** Lengths are multiples of this. */
  grain: number;
  /** Requires values that equal a computation from scratch bit by bit. */
  isExact: boolean;
}

/** Part of a prompt that a row already contains. */
export interface FoundPrefix {
  entry: CachedPrefix;
  length: number;
}

/** A common prefix shorter than this is recomputed rather than copied, kept or waited for. */
export const minimumReuse = 16;

/** Maximum number of entries, because every prompt is compared with all of them. */
const maxEntries = 64;

/** Rows of finished sequences, least recently used first. Sizes count in tokens. */
export class PrefixStore {
  private readonly entries: CachedPrefix[] = [];
  tokens = 0;

  constructor(private readonly decoder: Decoder) {}

  list(): readonly CachedPrefix[] {
    return this.entries;
  }

  /** Takes ownership of the row. Removes older entries that are a prefix of the new one. */
  add(entry: CachedPrefix): void {
    for (const older of [...this.entries]) {
      if (commonPrefix(older.ids, entry.ids, older.ids.length) === older.ids.length) this.remove(older);
    }
    this.entries.push(entry);
    this.tokens += entry.row.length;
    const oldest = this.entries[0];
    if (oldest && this.entries.length > maxEntries) this.remove(oldest);
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
      const oldest = this.entries[0];
      if (!oldest) return;
      this.remove(oldest);
    }
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
  prompt: Int32Array,
  entries: Iterable<CachedPrefix>,
  { grain, isExact }: ReuseRule,
): FoundPrefix | null {
  let found: FoundPrefix | null = null;
  for (const entry of entries) {
    const reusable = isExact ? Math.min(entry.exactLength, entry.row.reusableLength) : entry.row.reusableLength;
    const shared = commonPrefix(prompt, entry.ids, Math.min(reusable, prompt.length - 1));
    const length = shared - (shared % grain);
    if (length >= minimumReuse && length > (found?.length ?? 0)) found = { entry, length };
  }
  return found;
}

/** Returns the length of the longest common prefix, at most `limit`. */
export function commonPrefix(left: Int32Array, right: Int32Array, limit: number): number {
  const end = Math.min(left.length, right.length, limit);
  let length = 0;
  while (length < end && left[length] === right[length]) length++;
  return length;
}
