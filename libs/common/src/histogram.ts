/** What a `Tally` holds, as it crosses to another process. */
export interface HistogramReading {
  /** Upper bounds of the buckets, ascending; one more bucket takes what is larger. */
  bounds: readonly number[];
  /** Values in each bucket alone, not those below it. */
  counts: number[];
  sum: number;
}

/**
 * A histogram of one label set, in the unit of its bounds. Adding looks nothing up and allocates nothing: for what
 * happens thousands of times a second. `#platform/metrics` shows it.
 */
export class Histogram implements HistogramReading {
  readonly counts: number[];
  sum = 0;

  constructor(readonly bounds: readonly number[]) {
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  add(value: number): void {
    let position = 0;
    while (position < this.bounds.length && value > (this.bounds[position] ?? Infinity)) position++;
    this.counts[position] = (this.counts[position] ?? 0) + 1;
    this.sum += value;
  }

  read(): HistogramReading {
    return { bounds: this.bounds, counts: [...this.counts], sum: this.sum };
  }
}
