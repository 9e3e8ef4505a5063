import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { RefusalLogRepository } from './refusal-log.repository.js';
import { keptRefusals, type LoggedRefusal } from './logged-refusal.js';

const flushAfterMs = 250;
/** Accounts that may wait for a flush; more are refused without a line. */
const maxAccounts = 10_000;

/**
 * Collects refusals and writes them together: a flush writes at most the last 50 of an account, so that a flood of
 * refusals does not become a flood of writes.
 */
@Injectable()
export class RefusalLog {
  private waiting = new Map<string, LoggedRefusal[]>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly lines: RefusalLogRepository,
    private readonly logger: Logger,
  ) {}

  /** Never throws and never waits. */
  note(refusal: LoggedRefusal): void {
    const { accountId } = refusal;
    const known = this.waiting.get(accountId);
    if (known === undefined && this.waiting.size >= maxAccounts) return;
    const lines = known ?? [];
    this.waiting.set(accountId, lines);
    lines.push(refusal);
    if (lines.length > keptRefusals) lines.shift();
    this.timer ??= setTimeout(() => void this.flush(), flushAfterMs);
  }

  /** Resolves when everything recorded so far is written, or dropped. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.waiting.size > 0) {
      const refusals = [...this.waiting.values()].flat();
      this.waiting = new Map();
      this.writing = this.writing
        .then(() => this.lines.add(refusals))
        .catch((error: unknown) => this.logger.warn({ error }, 'The log of refused requests could not be written.'));
    }
    await this.writing;
  }
}
