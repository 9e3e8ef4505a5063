import { PlatformError } from '#common';

export interface SumTurnsOptions {
  /** How many aggregations run at once in this process. */
  maxAtOnce: number;
  /** How long an aggregation may wait for its slot. */
  waitMs: number;
}

interface Waiting {
  accountId: string;
  start: () => void;
}

const retryAfterSeconds = 5;

/**
 * Limits concurrent aggregations in the database: few at once, since each uses a connection that other requests need,
 * and one per account, so that an account with many ranges does not block others. They start in order of arrival.
 */
export class SumTurns {
  private readonly running = new Set<string>();
  private readonly waiting: Waiting[] = [];

  constructor(private readonly options: SumTurnsOptions) {}

  /** Rejects with `REQUEST_TIMEOUT`, without calling `work`, when no slot became free in time. */
  async run<Result>(accountId: string, work: () => Promise<Result>): Promise<Result> {
    await this.turnOf(accountId);
    try {
      return await work();
    } finally {
      this.running.delete(accountId);
      this.startNext();
    }
  }

  private async turnOf(accountId: string): Promise<void> {
    if (this.isFreeFor(accountId)) {
      this.running.add(accountId);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiting), 1);
        reject(tooBusy());
      }, this.options.waitMs);
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const waiting: Waiting = { accountId, start };
      this.waiting.push(waiting);
    });
  }

  private isFreeFor(accountId: string): boolean {
    return this.running.size < this.options.maxAtOnce && !this.running.has(accountId);
  }

  /** A finished aggregation frees one slot: everything that could start earlier has started. */
  private startNext(): void {
    const position = this.waiting.findIndex(({ accountId }) => this.isFreeFor(accountId));
    const [next] = position < 0 ? [] : this.waiting.splice(position, 1);
    if (next === undefined) return;
    this.running.add(next.accountId);
    next.start();
  }
}

function tooBusy(): PlatformError {
  const message = 'Other usage aggregations took too long for this one to start; try again in a moment.';
  return new PlatformError('REQUEST_TIMEOUT', message, null, { retry: { afterSeconds: retryAfterSeconds } });
}
