/** Contents of a `Histogram`, as they cross processes. */
export interface HistogramReading {
  /** Upper bounds of the buckets, ascending; one more bucket holds larger values. */
  bounds: readonly number[];
  /** Values per bucket, not cumulative. */
  counts: number[];
  sum: number;
}

/**
 * A histogram of one label set, in the unit of its bounds. Adding a value does no lookup and no allocation, for events
 * that occur thousands of times per second. `#platform/metrics` exports it.
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
