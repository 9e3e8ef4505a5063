/** A text waiting for its vector. */
export interface BatchRow {
  /** Request that the text belongs to. */
  readonly owner: string;
  /** In tokens. */
  readonly length: number;
}

export interface BatchLimits {
  /** Maximum of rows times the longest row; a longer row runs alone. */
  tokens: number;
  rows: number;
}

/** Range `[from, to)` of waiting rows, and their tokens. */
interface BatchWindow {
  from: number;
  to: number;
  tokens: number;
}

/** Padding allowed in a batch: a share of its own tokens, or as many tokens as one more run would cost. */
const paddingShare = 1 / 6;
const paddingTokens = 16;

/**
 * Batches rows of similar length across requests, because a short row in a long batch costs as much as the longest.
 * Requests take turns choosing the row around which the next batch is built, so a large request delays others only by
 * its share.
 */
export class LengthBatcher<Row extends BatchRow> {
  /** Sorted by length, shortest first. */
  private rows: Row[] = [];
  /** Waiting rows by owner, in the order of their turns. */
  private readonly owners = new Map<string, number>();

  constructor(private readonly limits: BatchLimits) {}

  get size(): number {
    return this.rows.length;
  }

  add(owner: string, rows: readonly Row[]): void {
    if (rows.length === 0) return;
    this.owners.set(owner, (this.owners.get(owner) ?? 0) + rows.length);
    this.rows = this.rows.concat(rows).sort((left, right) => left.length - right.length);
  }

  /** Removes all rows of a request. */
  remove(owner: string): void {
    if (!this.owners.delete(owner)) return;
    this.rows = this.rows.filter((row) => row.owner !== owner);
  }

  /** Returns the next batch; empty when nothing waits. */
  next(): Row[] {
    const [owner] = this.owners.keys();
    if (owner === undefined) return [];
    const anchor = this.rows.findLastIndex((row) => row.owner === owner);
    const [from, to] = this.windowAround(anchor);
    const batch = this.rows.splice(from, to - from);
    this.takeTurn(owner);
    for (const row of batch) this.removeRow(row.owner);
    return batch;
  }

  /** Grows the window from one row to both sides, always by the row that adds less padding. */
  private windowAround(anchor: number): [from: number, to: number] {
    let window: BatchWindow = { from: anchor, to: anchor + 1, tokens: this.lengthAt(anchor) };
    for (;;) {
      const { from, to, tokens } = window;
      const shorter = this.withPadding({ from: from - 1, to, tokens: tokens + this.lengthAt(from - 1) });
      const longer = this.withPadding({ from, to: to + 1, tokens: tokens + this.lengthAt(to) });
      const best = shorter !== null && (longer === null || shorter.padding <= longer.padding) ? shorter : longer;
      if (best === null) return [from, to];
      window = best.window;
    }
  }

  /** Returns the padding of a window; null when it exceeds the limits. */
  private withPadding(window: BatchWindow): { window: BatchWindow; padding: number } | null {
    const { from, to, tokens } = window;
    if (from < 0 || to > this.rows.length || to - from > this.limits.rows) return null;
    const cells = this.lengthAt(to - 1) * (to - from);
    const padding = cells - tokens;
    const isTight = padding <= Math.max(paddingTokens, tokens * paddingShare);
    return cells <= this.limits.tokens && isTight ? { window, padding } : null;
  }

  private lengthAt(index: number): number {
    return this.rows[index]?.length ?? 0;
  }

  /** Moves an owner to the end of the queue. */
  private takeTurn(owner: string): void {
    const waiting = this.owners.get(owner) ?? 0;
    this.owners.delete(owner);
    this.owners.set(owner, waiting);
  }

  private removeRow(owner: string): void {
    const waiting = (this.owners.get(owner) ?? 0) - 1;
    if (waiting > 0) this.owners.set(owner, waiting);
    else this.owners.delete(owner);
  }
}
