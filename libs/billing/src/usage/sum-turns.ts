import { PlatformError } from '#common';

export interface SumTurnsOptions {
  /** How many sums run at once in this process. */
  maxAtOnce: number;
  /** How long a sum may wait for its turn. */
  waitMs: number;
}

interface Waiting {
  accountId: string;
  start: () => void;
}

const retryAfterSeconds = 5;

/**
 * Who may let the database sum up: few at once, each on a connection that everybody else's requests need too, and one of
 * each account, so that one that asks for many ranges leaves a turn to the others. They begin in the order of asking.
 */
export class SumTurns {
  private readonly running = new Set<string>();
  private readonly waiting: Waiting[] = [];

  constructor(private readonly options: SumTurnsOptions) {}

  /** Rejects with `REQUEST_TIMEOUT`, and has not called `work`, where the turn did not come in time. */
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

  /** A sum that ends makes room for one: whoever could begin before has begun. */
  private startNext(): void {
    const position = this.waiting.findIndex(({ accountId }) => this.isFreeFor(accountId));
    const [next] = position < 0 ? [] : this.waiting.splice(position, 1);
    if (next === undefined) return;
    this.running.add(next.accountId);
    next.start();
  }
}

function tooBusy(): PlatformError {
  const message = 'Other sums of usage took too long for this one to begin; ask again in a moment.';
  return new PlatformError('REQUEST_TIMEOUT', message, null, { retry: { afterSeconds: retryAfterSeconds } });
}
