import type { HistogramReading } from '#common';
import { Histogram, type Registry } from 'prom-client';

export interface ObservedHistogramOptions<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
  /** Reports each current label set; called at every scrape. */
  read: (observe: (labels: Record<Label, string>, histogram: HistogramReading) => void) => void;
}

interface Sample {
  metricName: string;
  value: number;
  labels: Record<string, string>;
}

/**
 * A histogram maintained elsewhere: by a `Histogram` on a hot path, or in another process. prom-client's own looks its
 * labels up for every value, also through `labels()`.
 */
export class ObservedHistogram<Label extends string> extends Histogram<Label> {
  constructor(
    private readonly options: ObservedHistogramOptions<Label>,
    registry: Registry,
  ) {
    const { name, help, labelNames } = options;
    super({ name, help, labelNames: [...labelNames], registers: [registry] });
  }

  /** Required by prom-client's registry but missing in its types. */
  async getForPromString() {
    const { name, help, read } = this.options;
    const values: Sample[] = [];
    read((labels, histogram) => values.push(...samplesOf(name, labels, histogram)));
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}

function samplesOf(name: string, labels: Record<string, string>, { bounds, counts, sum }: HistogramReading): Sample[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const le = index < bounds.length ? String(bounds[index]) : '+Inf';
    return { metricName: `${name}_bucket`, value: total, labels: { le, ...labels } };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, value: sum, labels },
    { metricName: `${name}_count`, value: total, labels },
  ];
}
