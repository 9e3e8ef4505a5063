import { type Clock, systemClock } from '#common';
import type { KeyLookup } from './accounts.repository.js';

/** How long a revoked key may still be accepted, in ms. */
export const keyCacheMs = 5_000;
const maxEntries = 10_000;

/** The state of a key, or of a token that stands for one, when it was read. */
type CachedLookup = Pick<KeyLookup, 'active' | 'expiresInMs'>;

interface Entry<Lookup> {
  lookup: Promise<Lookup | null>;
  /** On the monotonic clock. */
  untilMs: number;
}

/**
 * Caches reads of the key table, each for at most 5 s and never past the key's expiry. Concurrent requests with one key
 * share one read. Unknown keys and failed reads are not cached.
 */
export class KeyCache<Lookup extends CachedLookup = KeyLookup> {
  private readonly entries = new Map<string, Entry<Lookup>>();

  constructor(
    private readonly read: (keyHash: Uint8Array<ArrayBuffer>) => Promise<Lookup | null>,
    private readonly clock: Clock = systemClock,
  ) {}

  async find(keyHash: Uint8Array<ArrayBuffer>): Promise<Lookup | null> {
    const id = Buffer.from(keyHash).toString('base64');
    const known = this.entries.get(id);
    if (known && known.untilMs > this.clock.monotonicMs()) return known.lookup;
    const entry: Entry<Lookup> = { lookup: this.read(keyHash), untilMs: this.clock.monotonicMs() + keyCacheMs };
    this.remember(id, entry);
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

  clear(): void {
    this.entries.clear();
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
