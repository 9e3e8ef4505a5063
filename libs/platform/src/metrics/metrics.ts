import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** How a gauge whose value is asked for at scrape time reports: one call per label set. */
export type Observe<Label extends string> = (labels: Record<Label, string>, value: number) => void;

const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/**
 * The metrics of one process. Base units everywhere (seconds, bytes), names `sluice_…`. Labels are closed sets:
 * routes, models, codes; never request ids, keys or text.
 */
export class Metrics {
  private readonly registry = new Registry();
  private readonly httpRequests: Histogram<'method' | 'route' | 'status'>;

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

  /**
   * A gauge that is asked at every scrape. `read` reports each current label set; one that it no longer reports
   * disappears. A rejection leaves the gauge out of this scrape and of nothing else.
   */
  observedGauge<Label extends string>(options: {
    name: string;
    help: string;
    labelNames: readonly Label[];
    read: (observe: Observe<Label>) => void | Promise<void>;
  }): void {
    const failures = this.scrapeFailures();
    new Gauge<Label>({
      name: options.name,
      help: options.help,
      labelNames: [...options.labelNames],
      registers: [this.registry],
      async collect() {
        this.reset();
        try {
          await options.read((labels, value) => this.set(labels as never, value));
        } catch {
          // The scrape must not fail with the store it reads; the counter tells that the gauge is missing.
          this.reset();
          failures.inc({ metric: options.name });
        }
      },
    });
  }

  private scrapeFailures(): Counter<'metric'> {
    const name = 'sluice_metrics_read_failures_total';
    const known = this.registry.getSingleMetric(name);
    if (known instanceof Counter) return known as Counter<'metric'>;
    return this.counter(name, 'Gauges left out of a scrape because their source did not answer.', ['metric']);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Prometheus text. */
  async render(): Promise<string> {
    return this.registry.metrics();
  }
}
