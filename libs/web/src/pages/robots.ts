import { PlatformError } from '#common';
import type { Egress } from '#egress';
import { RobotsRules } from './robots-rules.js';

/** Name of this platform in robots.txt files, as in the user agent of its requests. */
const agent = 'sluice';
const maxBytes = 512 * 1024;
const timeoutMs = 5_000;
const lifetimeMs = 600_000;
const maxOrigins = 500;

interface KnownRules {
  rules: Promise<RobotsRules>;
  readAtMs: number;
}

/** Reads the robots.txt of sites. One that is missing or cannot be read allows everything. */
export class Robots {
  private readonly known = new Map<string, KnownRules>();

  constructor(private readonly egress: Pick<Egress, 'read'>) {}

  /** Rejects with the signal's reason. */
  async allow(url: string, signal: AbortSignal): Promise<boolean> {
    const { origin } = new URL(url);
    const rules = await this.rulesOf(origin, signal);
    return rules.allows(url);
  }

  private async rulesOf(origin: string, signal: AbortSignal): Promise<RobotsRules> {
    const known = this.known.get(origin);
    if (known !== undefined && Date.now() - known.readAtMs < lifetimeMs) return await known.rules;
    const rules = this.read(origin, signal);
    this.known.delete(origin);
    this.known.set(origin, { rules, readAtMs: Date.now() });
    // A request that ended says nothing about the site.
    rules.catch(() => this.known.delete(origin));
    const [oldest] = this.known.keys();
    if (this.known.size > maxOrigins && oldest !== undefined) this.known.delete(oldest);
    return await rules;
  }

  private async read(origin: string, signal: AbortSignal): Promise<RobotsRules> {
    try {
      const { bytes } = await this.egress.read({ url: `${origin}/robots.txt`, maxBytes, timeoutMs, signal });
      return RobotsRules.parse(bytes.toString('utf8'), agent);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      return RobotsRules.parse('', agent);
    }
  }
}
