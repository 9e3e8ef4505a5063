import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ObservedHistogram, type ObservedHistogramOptions } from './observed-histogram.js';

/** How a gauge whose value is asked for at scrape time reports: one call per label set. */
export type Observe<Label extends string> = (labels: Record<Label, string>, value: number) => void;

/** A figure that is asked for at every scrape. */
export interface ObservedOptions<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
  /** Reports each current label set; one that it no longer reports disappears. */
  read: (observe: Observe<Label>) => void | Promise<void>;
}

/** How long a figure may be waited for, in ms: a little longer than readiness, which is one of them, waits for a check. */
const readWithinMs = 2_500;

const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/**
 * The metrics of one process. Base units everywhere (seconds, bytes), names `sluice_…`. Labels are closed sets:
 * routes, models, codes; never request ids, keys or text.
 */
export class Metrics {
  private readonly registry = new Registry();
  private readonly httpRequests: Histogram<'method' | 'route' | 'status'>;
  private inFlight = 0;

  constructor(app: string, options: { processMetrics?: boolean } = {}) {
    this.registry.setDefaultLabels({ app });
    if (options.processMetrics !== false) collectDefaultMetrics({ register: this.registry });
    this.httpRequests = new Histogram({
      name: 'sluice_http_request_duration_seconds',
      help: 'Time from the request line to the last byte of the answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: requestBuckets,
      registers: [this.registry],
    });
    this.observedGauge({
      name: 'sluice_http_requests_in_flight',
      help: 'Requests that are being answered, but for those of operators (health, metrics).',
      labelNames: [],
      read: (observe) => observe({}, this.inFlight),
    });
  }

  httpRequestStarted(): void {
    this.inFlight++;
  }

  httpRequestEnded(): void {
    this.inFlight--;
  }

  /** `route` is the pattern (`/api/v1/chat/completions`), never the path of a request. */
  observeHttpRequest(request: { method: string; route: string; status: number; seconds: number }): void {
    const { method, route, status, seconds } = request;
    this.httpRequests.observe({ method, route, status: String(status) }, seconds);
  }

  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  histogram<Label extends string>(options: {
    name: string;
    help: string;
    labelNames: readonly Label[];
    buckets?: number[];
  }): Histogram<Label> {
    const { name, help, labelNames, buckets = requestBuckets } = options;
    return new Histogram({ name, help, labelNames: [...labelNames], buckets, registers: [this.registry] });
  }

  /** A gauge that is asked at every scrape. One that rejects, or is late, is left out of this scrape and of nothing else. */
  observedGauge<Label extends string>(options: ObservedOptions<Label>): void {
    const collect = this.reader(options);
    new Gauge<Label>({
      ...this.describe(options),
      collect() {
        return collect(this, (labels, value) => this.set(labels, value));
      },
    });
  }

  /** The same for a total that only grows, and is counted elsewhere. */
  observedCounter<Label extends string>(options: ObservedOptions<Label>): void {
    const collect = this.reader(options);
    new Counter<Label>({
      ...this.describe(options),
      collect() {
        return collect(this, (labels, value) => this.inc(labels, value));
      },
    });
  }

  /** The same for a histogram that is counted elsewhere. */
  observedHistogram<Label extends string>(options: ObservedHistogramOptions<Label>): void {
    new ObservedHistogram(options, this.registry);
  }

  private describe<Label extends string>({ name, help, labelNames }: ObservedOptions<Label>) {
    return { name, help, labelNames: [...labelNames], registers: [this.registry] };
  }

  private reader<Label extends string>({ name, read }: ObservedOptions<Label>) {
    const failures = this.scrapeFailures();
    return async (metric: { reset(): void }, observe: Observe<Label>): Promise<void> => {
      metric.reset();
      let isOpen = true;
      const reading = async (): Promise<void> => read((labels, value) => (isOpen ? observe(labels, value) : undefined));
      try {
        await inTime(reading());
      } catch {
        // The scrape must neither fail nor stand still with the store it reads; the counter tells what is missing.
        metric.reset();
        failures.inc({ metric: name });
      } finally {
        // What comes later would stand beside the figures of the next scrape.
        isOpen = false;
      }
    };
  }

  private scrapeFailures(): Counter<'metric'> {
    const name = 'sluice_metrics_read_failures_total';
    const known = this.registry.getSingleMetric(name);
    if (known instanceof Counter) return known as Counter<'metric'>;
    return this.counter(name, 'Figures left out of a scrape because their source did not answer.', ['metric']);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Prometheus text. */
  async render(): Promise<string> {
    return this.registry.metrics();
  }
}

/** Rejects when `work` takes longer than a scrape may wait. */
async function inTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${readWithinMs} ms.`)), readWithinMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
