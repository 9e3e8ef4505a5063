import { type Clock, systemClock } from '#common';
import type { KeyLookup } from './accounts.repository.js';

/** How long a revoked key may still be accepted, in ms. */
export const keyCacheMs = 5_000;
const maxEntries = 10_000;

/** The state of a key, or of a token that stands for one, when it was read. */
type CachedLookup = Pick<KeyLookup, 'active' | 'expiresInMs'>;

interface Entry<Lookup> {
  keyHash: Uint8Array<ArrayBuffer>;
  lookup: Promise<Lookup | null>;
  /** On the monotonic clock. */
  untilMs: number;
  /** It was asked for since it was read. */
  isUsed: boolean;
}

/** Returns what is stored for each hash, in their order. */
type ReadKeys<Lookup> = (keyHashes: readonly Uint8Array<ArrayBuffer>[]) => Promise<readonly (Lookup | null)[]>;

/**
 * Caches reads of the key table, each for at most 5 s and never past the key's expiry. Concurrent requests with one key
 * share one read. Unknown keys and failed reads are not cached.
 */
export class KeyCache<Lookup extends CachedLookup = KeyLookup> {
  private readonly entries = new Map<string, Entry<Lookup>>();

  constructor(
    private readonly read: ReadKeys<Lookup>,
    private readonly clock: Clock = systemClock,
    /** How many are read in one step: with the key that is asked for, those that are in use as well. */
    private readonly maxTogether = 1,
  ) {}

  async find(keyHash: Uint8Array<ArrayBuffer>): Promise<Lookup | null> {
    const id = idOf(keyHash);
    const known = this.entries.get(id);
    if (known && known.untilMs > this.clock.monotonicMs()) {
      known.isUsed = true;
      return known.lookup;
    }
    const keyHashes = [keyHash, ...this.othersInUse(id)];
    const answers = this.read(keyHashes);
    const untilMs = this.clock.monotonicMs() + keyCacheMs;
    const settled = keyHashes.map((hash, index) => {
      const lookup = answers.then((found) => found[index] ?? null);
      const entry: Entry<Lookup> = { keyHash: hash, lookup, untilMs, isUsed: false };
      this.remember(idOf(hash), entry);
      return this.settle(idOf(hash), entry);
    });
    // A failed read of all is that of each one that is asked for meanwhile.
    for (const other of settled.slice(1)) other.catch(() => undefined);
    return (await settled[0]) ?? null;
  }

  clear(): void {
    this.entries.clear();
  }

  private othersInUse(id: string): Uint8Array<ArrayBuffer>[] {
    const others: Uint8Array<ArrayBuffer>[] = [];
    for (const [otherId, { keyHash, isUsed }] of this.entries) {
      if (others.length + 1 >= this.maxTogether) break;
      if (isUsed && otherId !== id) others.push(keyHash);
    }
    return others;
  }

  private async settle(id: string, entry: Entry<Lookup>): Promise<Lookup | null> {
    try {
      const lookup = await entry.lookup;
      if (lookup === null) this.forget(id, entry);
      else if (lookup.active && lookup.expiresInMs !== null) {
        entry.untilMs = Math.min(entry.untilMs, this.clock.monotonicMs() + lookup.expiresInMs);
      }
      return lookup;
    } catch (error) {
      this.forget(id, entry);
      throw error;
    }
  }

  private remember(id: string, entry: Entry<Lookup>): void {
    this.entries.delete(id);
    this.entries.set(id, entry);
    // A map iterates in insertion order: the first key is the oldest entry.
    const oldest = this.entries.size > maxEntries ? this.entries.keys().next().value : undefined;
    if (oldest !== undefined) this.entries.delete(oldest);
  }

  private forget(id: string, entry: Entry<Lookup>): void {
    if (this.entries.get(id) === entry) this.entries.delete(id);
  }
}

function idOf(keyHash: Uint8Array): string {
  return Buffer.from(keyHash).toString('base64');
}
