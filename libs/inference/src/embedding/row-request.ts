import type { BatchRow } from './length-batcher.js';

/** Number of texts tokenized before the next request gets its turn. */
const textsPerTurn = 16;

/** A request in progress in the engine: texts that become rows of batches. */
export abstract class RowRequest<Row extends BatchRow> {
  readonly rows: Row[] = [];
  /** Rows in the running batch. */
  inBatch = 0;
  isCancelled = false;
  computedTokens = 0;
  private computedRows = 0;

  constructor(
    readonly id: string,
    protected readonly count: number,
  ) {}

  get isRead(): boolean {
    return this.rows.length === this.count;
  }

  get isComputed(): boolean {
    return this.computedRows === this.count;
  }

  /** Tokenizes the next texts. Throws as `readRow` does. */
  readSome(): void {
    const end = Math.min(this.rows.length + textsPerTurn, this.count);
    for (let index = this.rows.length; index < end; index++) this.rows.push(this.readRow(index));
  }

  countComputed(rows: readonly Row[]): void {
    this.computedRows += rows.length;
    for (const { length } of rows) this.computedTokens += length;
  }

  /** Tokenizes one text. Throws `TOO_MANY_TOKENS` or `INVALID_REQUEST`, naming the field. */
  protected abstract readRow(index: number): Row;
}
