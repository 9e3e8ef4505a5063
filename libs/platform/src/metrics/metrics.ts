import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ObservedHistogram, type ObservedHistogramOptions } from './observed-histogram.js';

/** Reports the values of a gauge at scrape time, one call per label set. */
export type Observe<Label extends string> = (labels: Record<Label, string>, value: number) => void;

/** A metric that is read at every scrape. */
export interface ObservedOptions<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
  /** Reports each current label set; others disappear. */
  read: (observe: Observe<Label>) => void | Promise<void>;
}

/** How long a scrape waits for a value, in ms: slightly longer than a readiness check, which is one of them. */
const readTimeoutMs = 2_500;

const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/**
 * The metrics of one process, named `sluice_…`, in base units (seconds, bytes). Labels are closed sets (routes, models,
 * codes), never request ids, keys or text.
 */
export class Metrics {
  private readonly registry = new Registry();
  private readonly httpRequests: Histogram<'method' | 'route' | 'status'>;
  private inFlight = 0;

  constructor(app: string, options: { processMetrics?: boolean; installation?: string } = {}) {
    const { installation } = options;
    // Several installations may be behind one Prometheus.
    this.registry.setDefaultLabels({ app, ...(installation !== undefined && { installation }) });
    if (options.processMetrics !== false) collectDefaultMetrics({ register: this.registry });
    this.httpRequests = new Histogram({
      name: 'sluice_http_request_duration_seconds',
      help: 'Time from the request line to the last byte of the response.',
      labelNames: ['method', 'route', 'status'],
      buckets: requestBuckets,
      registers: [this.registry],
    });
    this.observedGauge({
      name: 'sluice_http_requests_in_flight',
      help: 'Requests in flight, except operations routes (health, metrics).',
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

  /** Registers a gauge that is read at every scrape. If reading rejects or times out, only this gauge is left out. */
  observedGauge<Label extends string>(options: ObservedOptions<Label>): void {
    const collect = this.reader(options);
    new Gauge<Label>({
      ...this.describe(options),
      collect() {
        return collect(this, (labels, value) => this.set(labels, value));
      },
    });
  }

  /** The same for a counter that is maintained elsewhere. */
  observedCounter<Label extends string>(options: ObservedOptions<Label>): void {
    const collect = this.reader(options);
    new Counter<Label>({
      ...this.describe(options),
      collect() {
        return collect(this, (labels, value) => this.inc(labels, value));
      },
    });
  }

  /** The same for a histogram that is maintained elsewhere. */
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
        await withTimeout(reading());
      } catch {
        // A scrape must not fail or hang with the store it reads; the counter records what is missing.
        metric.reset();
        failures.inc({ metric: name });
      } finally {
        // A late value would mix with those of the next scrape.
        isOpen = false;
      }
    };
  }

  private scrapeFailures(): Counter<'metric'> {
    const name = 'sluice_metrics_read_failures_total';
    const known = this.registry.getSingleMetric(name);
    if (known instanceof Counter) return known as Counter<'metric'>;
    return this.counter(name, 'Values left out of a scrape because their source did not respond.', ['metric']);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Prometheus text. */
  async render(): Promise<string> {
    return this.registry.metrics();
  }
}

/** Rejects if `work` takes longer than a scrape may wait. */
async function withTimeout(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`No response within ${readTimeoutMs} ms.`)), readTimeoutMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
