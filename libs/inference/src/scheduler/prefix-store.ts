import type { CacheRow, Decoder } from './decoder.js';

/** A row and the ids whose keys and values it holds. */
export interface HeldPrefix {
  row: CacheRow;
  ids: Int32Array;
  /** Leading positions that hold, bit by bit, what computing these ids from nothing holds. */
  exactLength: number;
}

/** What may be copied for a prompt. */
export interface ReuseRule {
  /** Lengths are multiples of it. */
  grain: number;
  /** Only what computing the prompt from nothing would hold, bit by bit. */
  isExact: boolean;
}

/** Part of a prompt that some row holds already. */
export interface FoundPrefix {
  replica: HeldPrefix;
  length: number;
}

/** A common prefix shorter than this is computed again rather than copied, kept or waited for. */
export const minimumReuse = 16;

/** More entries than this are not worth comparing every prompt with. */
const maxEntries = 64;

/** Rows of finished sequences, in order of last use, oldest first. What they hold counts in tokens. */
export class PrefixStore {
  private readonly kept: HeldPrefix[] = [];
  tokens = 0;

  constructor(private readonly decoder: Decoder) {}

  list(): readonly HeldPrefix[] {
    return this.kept;
  }

  /** Takes over the row. An older entry that the new one begins with says nothing new and goes. */
  add(entry: HeldPrefix): void {
    for (const older of [...this.kept]) {
      if (commonPrefix(older.ids, entry.ids, older.ids.length) === older.ids.length) this.remove(older);
    }
    this.kept.push(entry);
    this.tokens += entry.row.length;
    const oldest = this.kept[0];
    if (oldest && this.kept.length > maxEntries) this.remove(oldest);
  }

  /** Marks an entry as used just now; a row that is not kept here is ignored. */
  touch(entry: HeldPrefix): void {
    const index = this.kept.indexOf(entry);
    if (index < 0) return;
    this.kept.splice(index, 1);
    this.kept.push(entry);
  }

  /** Releases the least recently used until at most `tokens` are held. */
  shrinkTo(tokens: number): void {
    while (this.tokens > tokens) {
      const oldest = this.kept[0];
      if (!oldest) return;
      this.remove(oldest);
    }
  }

  private remove(entry: HeldPrefix): void {
    this.kept.splice(this.kept.indexOf(entry), 1);
    this.tokens -= entry.row.length;
    this.decoder.release(entry.row);
  }
}

/**
 * The holder of the longest prefix of `prompt` that is worth a copy, or null. The prompt's last token never counts:
 * its logits are needed.
 */
export function longestPrefix(
  prompt: Int32Array,
  replicas: Iterable<HeldPrefix>,
  { grain, isExact }: ReuseRule,
): FoundPrefix | null {
  let found: FoundPrefix | null = null;
  for (const replica of replicas) {
    const held = isExact ? Math.min(replica.exactLength, replica.row.reusableLength) : replica.row.reusableLength;
    const shared = commonPrefix(prompt, replica.ids, Math.min(held, prompt.length - 1));
    const length = shared - (shared % grain);
    if (length >= minimumReuse && length > (found?.length ?? 0)) found = { replica, length };
  }
  return found;
}

/** Length of the longest common prefix, at most `limit`. */
export function commonPrefix(left: Int32Array, right: Int32Array, limit: number): number {
  const end = Math.min(left.length, right.length, limit);
  let length = 0;
  while (length < end && left[length] === right[length]) length++;
  return length;
}
