/** How a group of items is worked on: resolves to a result or an error for each, in their order. */
export type GroupWork<Item, Result> = (items: readonly Item[]) => Promise<(Result | Error)[]>;

export interface GroupCommitOptions {
  /** Groups under way at once. */
  lanes: number;
  /** Items of one group. */
  max: number;
  /** How long the first item of a lane waits for others, in ms, where nobody waits for it. Default: one turn of the loop. */
  gatherMs?: number;
  /**
   * How long after it came an item may still be begun, or tried alone after its group failed, in ms; then it rejects.
   * Default: however long.
   */
  patienceMs?: number;
}

interface Waiting<Item, Result> {
  item: Item;
  sinceMs: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Items that come while others are under way share the next transaction, as a database commits in groups: alone, an
 * item waits for nobody; the busier, the cheaper each. Items of one key are never in a group together. A group that fails
 * as a whole is tried item by item, so that one bad item costs the others no more than time.
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

  /** What comes together goes together. */
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

  /** Those who wait for it have been told something else long before it would be done. */
  private stillWanted(group: Waiting<Item, Result>[]): Waiting<Item, Result>[] {
    const { patienceMs = Infinity } = this.options;
    const nowMs = performance.now();
    return group.filter(({ sinceMs, reject }) => {
      const isLate = nowMs - sinceMs > patienceMs;
      if (isLate) reject(new Error(`Its turn did not come within ${patienceMs} ms.`));
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

  /** Null when the group failed as a whole and has more than one item. */
  private async resultsOf(group: Waiting<Item, Result>[]): Promise<(Result | Error)[] | null> {
    try {
      return await this.work(group.map(({ item }) => item));
    } catch (error) {
      if (group.length > 1) return null;
      return [error instanceof Error ? error : new Error('The work on a group failed.', { cause: error })];
    }
  }
}
