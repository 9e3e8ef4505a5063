import { PlatformError } from '#common';

/** Time that compilations of one caller may take in a minute although they are refused, in ms. */
const allowedMs = 2_000;
/** Most that is counted, in ms: a caller waits for its end. */
const maxCountedMs = 6_000;
const minuteMs = 60_000;

/** Callers that are remembered; those with the oldest refusals are forgotten first. */
const maxCallers = 1_000;

/**
 * What refused compilations cost a caller: nothing is charged for them, and each may take a second of the model. Behind
 * the allowed time no new constraint of the caller is compiled until enough of it is a minute old.
 */
export class RefusedTime {
  /** Time used, which drains evenly; by caller. */
  private readonly used = new Map<string, { ms: number; atMs: number }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  add(caller: string, ms: number): void {
    const used = Math.min(maxCountedMs, this.usedBy(caller) + ms);
    this.used.delete(caller);
    this.used.set(caller, { ms: used, atMs: this.now() });
    const [oldest] = this.used.keys();
    if (oldest !== undefined && this.used.size > maxCallers) this.used.delete(oldest);
  }

  /** Throws `RATE_LIMIT_EXCEEDED` for a caller whose refused compilations took too long. */
  check(caller: string): void {
    const over = this.usedBy(caller) - allowedMs;
    if (over < 0) return;
    const seconds = Math.ceil(((over + 1) / allowedMs) * (minuteMs / 1_000));
    const what = 'Schemas and grammars that were refused took this account too much time to compile.';
    throw new PlatformError('RATE_LIMIT_EXCEEDED', `${what} New ones are compiled in ${seconds} s.`, null, {
      retry: { afterSeconds: seconds },
    });
  }

  private usedBy(caller: string): number {
    const used = this.used.get(caller);
    if (used === undefined) return 0;
    const drained = ((this.now() - used.atMs) / minuteMs) * allowedMs;
    return Math.max(0, used.ms - drained);
  }
}
