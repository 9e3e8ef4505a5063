/** Processes a group of items: resolves to a result or an error for each, in order. */
export type GroupWork<Item, Result> = (items: readonly Item[]) => Promise<(Result | Error)[]>;

export interface GroupCommitOptions {
  /** Groups in progress at once. */
  lanes: number;
  /** Maximum number of items per group. */
  max: number;
  /**
   * How long the first item of a lane waits for others, in ms, when nothing awaits it. Default: one turn of the event
   * loop.
   */
  gatherMs?: number;
  /**
   * How long after its arrival an item may still be started, or retried alone after its group failed, in ms; then it
   * rejects. Default: unlimited.
   */
  maxWaitMs?: number;
}

interface Waiting<Item, Result> {
  item: Item;
  sinceMs: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Groups items that arrive while others are in progress into the next transaction, like a database's group commit: a
 * single item waits for nothing; the higher the load, the lower the cost of each. Items with the same key are never in
 * one group. A group that fails as a whole is retried item by item, so that a bad item costs the others only time.
 */
export class GroupCommit<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private busy = 0;

  constructor(
    private readonly work: GroupWork<Item, Result>,
    private readonly keyOf: (item: Item) => string,
    private readonly options: GroupCommitOptions,
  ) {}

  /** Resolves or rejects as the work does for this item. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, sinceMs: performance.now(), resolve, reject });
      if (this.busy < this.options.lanes) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.busy += 1;
    await this.gather();
    while (this.waiting.length > 0) {
      await this.workOn(this.stillWanted(this.takeGroup()));
      if (this.waiting.length > 0 && this.options.gatherMs !== undefined) await this.gather();
    }
    this.busy -= 1;
  }

  /** Items that arrive together are processed together. */
  private async gather(): Promise<void> {
    const { gatherMs } = this.options;
    await new Promise((resolve) => (gatherMs === undefined ? setImmediate(resolve) : setTimeout(resolve, gatherMs)));
  }

  private takeGroup(): Waiting<Item, Result>[] {
    const group = new Map<string, Waiting<Item, Result>>();
    const later: Waiting<Item, Result>[] = [];
    for (const entry of this.waiting) {
      const key = this.keyOf(entry.item);
      if (group.size < this.options.max && !group.has(key)) group.set(key, entry);
      else later.push(entry);
    }
    this.waiting = later;
    return [...group.values()];
  }

  /** The waiters of the item received another response long before it would be done. */
  private stillWanted(group: Waiting<Item, Result>[]): Waiting<Item, Result>[] {
    const { maxWaitMs = Infinity } = this.options;
    const nowMs = performance.now();
    return group.filter(({ sinceMs, reject }) => {
      const isLate = nowMs - sinceMs > maxWaitMs;
      if (isLate) reject(new Error(`Its turn did not come within ${maxWaitMs} ms.`));
      return !isLate;
    });
  }

  private async workOn(group: Waiting<Item, Result>[]): Promise<void> {
    if (group.length === 0) return;
    const results = await this.resultsOf(group);
    if (results === null) {
      return void (await Promise.all(this.stillWanted(group).map((entry) => this.workOn([entry]))));
    }
    group.forEach(({ resolve, reject }, position) => {
      const result = results[position];
      if (result instanceof Error || result === undefined) reject(result);
      else resolve(result);
    });
  }

  /** Returns null when the group failed as a whole and has more than one item. */
  private async resultsOf(group: Waiting<Item, Result>[]): Promise<(Result | Error)[] | null> {
    try {
      return await this.work(group.map(({ item }) => item));
    } catch (error) {
      if (group.length > 1) return null;
      return [error instanceof Error ? error : new Error('The work on a group failed.', { cause: error })];
    }
  }
}
