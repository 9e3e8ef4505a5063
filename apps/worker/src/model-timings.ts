import { type JobUsage, PlatformError, Histogram } from '#common';
import type { ModalityName } from '#modalities';
import type { JobReport, StickyJobEnd } from '#queue';

/* Buckets from OpenTelemetry's semantic conventions for generative AI, in seconds and tokens. */
const requestBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const firstTokenBounds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const perTokenBounds = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const tokenBounds = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
const pickupBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Job timings of one model since the worker loaded it, in seconds. */
export class ModelTimings {
  readonly firstToken = new Histogram(firstTokenBounds);
  readonly perOutputToken = new Histogram(perTokenBounds);
  /** Time between two steps that produced text, as seen in the client's stream. */
  readonly interToken = new Histogram(perTokenBounds);
  private readonly modalities = new Map<ModalityName, JobTimings>();

  of(modality: ModalityName): JobTimings {
    const known = this.modalities.get(modality);
    if (known !== undefined) return known;
    const timings = new JobTimings(modality);
    this.modalities.set(modality, timings);
    return timings;
  }

  list(): JobTimings[] {
    return [...this.modalities.values()];
  }

  /** Jobs running now, including those between two host requests. */
  get running(): number {
    return this.list().reduce((running, timings) => running + timings.running, 0);
  }

  /** Jobs that ended, however they did. */
  get ended(): number {
    return this.list().reduce((ended, timings) => ended + timings.ended, 0);
  }

  /** When a job last began or ended, in ms of `performance.now()`; `-Infinity` before the first. */
  get usedAtMs(): number {
    return Math.max(...this.list().map((timings) => timings.usedAtMs));
  }
}

/** Timings of one modality. */
export class JobTimings {
  readonly pickup = new Histogram(pickupBounds);
  /** Counts by result: an error code, or empty for success. */
  readonly requests = new Map<string, Histogram>();
  readonly inputTokens = new Histogram(tokenBounds);
  readonly outputTokens = new Histogram(tokenBounds);
  /** Sticky jobs, by what became of them. */
  readonly stickyJobs = new Map<StickyJobEnd, number>();
  running = 0;
  ended = 0;
  usedAtMs = -Infinity;

  constructor(readonly modality: ModalityName) {}

  /** Runs a job and records its duration, result and usage. */
  async time(run: () => Promise<JobReport>): Promise<JobReport> {
    const startedAt = performance.now();
    let end = 'INFERENCE_FAILED';
    this.running++;
    this.usedAtMs = startedAt;
    try {
      const report = await run();
      end = report.cancelled ? 'JOB_CANCELLED' : '';
      if (report.usage !== null) this.countTokens(report.usage);
      return report;
    } catch (error) {
      end = PlatformError.from(error, 'INFERENCE_FAILED').code;
      throw error;
    } finally {
      this.running--;
      this.ended++;
      this.usedAtMs = performance.now();
      this.requestHistogram(end).add((performance.now() - startedAt) / 1_000);
    }
  }

  countSticky(end: StickyJobEnd): void {
    this.stickyJobs.set(end, (this.stickyJobs.get(end) ?? 0) + 1);
  }

  private countTokens({ promptTokens, completionTokens }: JobUsage): void {
    if (promptTokens > 0) this.inputTokens.add(promptTokens);
    if (completionTokens > 0) this.outputTokens.add(completionTokens);
  }

  /** Error codes are a closed set. */
  private requestHistogram(end: string): Histogram {
    const known = this.requests.get(end);
    if (known !== undefined) return known;
    const histogram = new Histogram(requestBounds);
    this.requests.set(end, histogram);
    return histogram;
  }
}
