import { PlatformError } from '#common';
import type { Egress } from '#egress';
import { within } from '#platform/turns';
import type { PageRequest } from './page-reader.js';
import { RobotsRules } from './robots-rules.js';

/** Name of this platform in robots.txt files, as in the user agent of its requests. */
const agent = 'sluice';
const maxBytes = 512 * 1024;
const timeoutMs = 5_000;
const lifetimeMs = 600_000;
const maxOrigins = 500;
/** Memory of the rules of all origins. */
const maxKnownBytes = 8 * 1024 * 1024;
/** Rules that are not read yet, and the entry itself. */
const entryBytes = 1_024;

interface KnownRules {
  rules: Promise<RobotsRules>;
  bytes: number;
  readAtMs: number;
}

/** Reads the robots.txt of sites. One that is missing or cannot be read allows everything. */
export class Robots {
  /** The one that was read longest ago comes first. */
  private readonly known = new Map<string, KnownRules>();
  private knownBytes = 0;

  constructor(
    private readonly egress: Pick<Egress, 'read'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Rejects with the signal's reason, and with `RATE_LIMIT_EXCEEDED` if the account looks up too many hosts. */
  async allow(url: string, { owner, signal }: PageRequest): Promise<boolean> {
    const { origin } = new URL(url);
    const known = this.find(origin);
    try {
      const rules = await within(signal, known?.rules ?? this.add(origin, owner));
      return rules.allows(url);
    } catch (error) {
      signal.throwIfAborted();
      // The account that had asked first was refused, which says nothing about this one.
      if (known === null) throw error;
      const rules = await within(signal, this.find(origin)?.rules ?? this.add(origin, owner));
      return rules.allows(url);
    }
  }

  /** Memory of what is known, in bytes. */
  get bytes(): number {
    return this.knownBytes;
  }

  private find(origin: string): KnownRules | null {
    for (const [other, { readAtMs }] of this.known) {
      if (this.nowMs() - readAtMs < lifetimeMs) break;
      this.remove(other);
    }
    return this.known.get(origin) ?? null;
  }

  /** Requests of several accounts wait for one reading, so it goes on without each of them. */
  private add(origin: string, owner: string): Promise<RobotsRules> {
    const rules = this.read(origin, owner);
    const entry = { rules, bytes: entryBytes, readAtMs: this.nowMs() };
    this.known.set(origin, entry);
    this.knownBytes += entry.bytes;
    rules.then(
      (found) => {
        if (this.known.get(origin) !== entry) return;
        this.knownBytes += found.bytes;
        entry.bytes += found.bytes;
        this.dropOldest();
      },
      () => {
        if (this.known.get(origin) === entry) this.remove(origin);
      },
    );
    this.dropOldest();
    return rules;
  }

  private dropOldest(): void {
    for (const origin of this.known.keys()) {
      if (this.known.size <= maxOrigins && this.knownBytes <= maxKnownBytes) return;
      this.remove(origin);
    }
  }

  private remove(origin: string): void {
    this.knownBytes -= this.known.get(origin)?.bytes ?? 0;
    this.known.delete(origin);
  }

  private async read(origin: string, owner: string): Promise<RobotsRules> {
    try {
      const { bytes } = await this.egress.read({ url: `${origin}/robots.txt`, owner, maxBytes, timeoutMs });
      return RobotsRules.parse(bytes.toString('utf8'), agent);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code === 'RATE_LIMIT_EXCEEDED') throw error;
      return RobotsRules.parse('', agent);
    }
  }
}
