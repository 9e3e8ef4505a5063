import { type Clock, systemClock } from '#common';

const maxFailures = 3;
const openMs = 30_000;

/** Keeps requests from a provider that failed several times in a row; after a while one request tries it again. */
export class CircuitBreaker {
  private failures = 0;
  private closedAtMs = 0;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'> = systemClock) {}

  /** Whether a request may be made now. While the breaker is open, true is returned once per period. */
  tryPass(): boolean {
    if (this.failures < maxFailures) return true;
    if (this.clock.monotonicMs() < this.closedAtMs) return false;
    this.closedAtMs = this.clock.monotonicMs() + openMs;
    return true;
  }

  get isOpen(): boolean {
    return this.failures >= maxFailures;
  }

  succeeded(): void {
    this.failures = 0;
  }

  failed(): void {
    this.failures += 1;
    if (this.failures >= maxFailures) this.closedAtMs = this.clock.monotonicMs() + openMs;
  }
}
