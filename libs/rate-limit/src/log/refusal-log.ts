import type { LimitTier } from '../limits/limit-table.js';

export type RefusalType = 'RPD' | 'RPM' | 'TPM' | 'FAILED_REQUESTS' | 'UNSUPPORTED_FEATURE_REQUESTS';

/** One line of the log that callers read. */
export interface LoggedRefusal {
  accountId: string;
  apiKeyId: string;
  tier: LimitTier;
  /** Empty where no model is meant. */
  modelId: string;
  type: RefusalType;
  /** Ms since the epoch, by the clock of the limit's store. */
  atMs: number;
}

/** Lines of an account that are kept. */
export const keptRefusals = 50;

const flushAfterMs = 250;
/** Accounts that may wait for a flush; more are refused all the same, without a line. */
const maxAccounts = 10_000;

/**
 * Collects refusals and writes them together: however many requests of an account are refused, a flush writes its last
 * 50, so that a flood does not become one on the database.
 */
export class RefusalLog {
  private waiting = new Map<string, LoggedRefusal[]>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly write: (refusals: LoggedRefusal[]) => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
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

  /** Resolves when what was noted so far is written, or given up. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.waiting.size > 0) {
      const refusals = [...this.waiting.values()].flat();
      this.waiting = new Map();
      this.writing = this.writing.then(() => this.write(refusals)).catch((error: unknown) => this.onFailure(error));
    }
    await this.writing;
  }
}
