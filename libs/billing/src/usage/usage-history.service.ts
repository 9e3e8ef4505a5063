import { type Clock, deriveKey, PlatformError, systemClock } from '#common';
import { DatabaseConfig } from '#platform/config';
import { Inject, Injectable, Optional } from '#platform/injection';
import { readCursor, type UsageCursor, type UsageFilter, writeCursor } from './usage-cursor.js';
import { type UsageEntry, UsageHistoryRepository } from './usage-history.repository.js';

export interface UsagePage {
  entries: UsageEntry[];
  /** Null at the current end of the history. */
  nextCursor: string | null;
}

/** Reports an account's charges line by line, oldest first. */
@Injectable()
export class UsageHistoryService {
  /** The first one writes, all read. */
  private readonly cursorKeys: readonly [Buffer, ...Buffer[]];

  constructor(
    private readonly repository: UsageHistoryRepository,
    /** Replicas with the same key continue each other's pages. */
    @Inject(DatabaseConfig) { secretKeys: [newest, ...older] }: Pick<DatabaseConfig, 'secretKeys'>,
    @Optional() private readonly clock: Clock = systemClock,
  ) {
    const keyOf = (secretKey: string) => deriveKey(secretKey, 'usage cursors');
    this.cursorKeys = [keyOf(newest), ...older.map(keyOf)];
  }

  async first(accountId: string, filter: UsageFilter): Promise<UsagePage> {
    return this.page(accountId, filter, null);
  }

  /**
   * Returns the next page, with the same filter: every line once, whatever is written meanwhile. Rejects with
   * `INVALID_REQUEST` when the cursor was altered, belongs to another account, or is older than 24 h.
   */
  async next(accountId: string, text: string): Promise<UsagePage> {
    const cursor = readCursor(this.cursorKeys, accountId, text, this.clock.nowMs());
    if (cursor === null) {
      const message = 'The cursor is not valid, or older than 24 h; start again without it.';
      const issues = [{ code: 'invalid_cursor', path: ['cursor'], message }];
      throw new PlatformError('INVALID_REQUEST', message, 'cursor', { issues });
    }
    return this.page(accountId, cursor.filter, cursor.after);
  }

  private async page(accountId: string, filter: UsageFilter, after: UsageCursor['after'] | null): Promise<UsagePage> {
    // One more line than shown tells whether there is another page.
    const found = await this.repository.page(accountId, filter, after, filter.pageSize + 1);
    const entries = found.slice(0, filter.pageSize);
    const last = found.length > entries.length ? entries.at(-1) : undefined;
    if (last === undefined) return { entries, nextCursor: null };
    const position = { createdAtMs: last.createdAt.getTime(), entryId: last.entryId };
    const cursor = { filter, after: position };
    return { entries, nextCursor: writeCursor(this.cursorKeys[0], accountId, cursor, this.clock.nowMs()) };
  }
}
