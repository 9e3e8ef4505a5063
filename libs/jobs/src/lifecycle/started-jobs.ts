import type { Logger } from '#platform/logging';

const flushAfterMs = 100;
const maxWaiting = 10_000;

/** Collects the ids of started jobs and writes them in batches: one statement per 100 ms, not one per request. */
export class StartedJobs {
  private waiting = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly write: (requestIds: string[]) => Promise<void>,
    private readonly logger: Logger,
  ) {}

  add(requestId: string): void {
    if (this.waiting.size >= maxWaiting) return;
    this.waiting.add(requestId);
    this.timer ??= setTimeout(() => this.flush(), flushAfterMs);
  }

  /** A job that has ended needs no record of its start, which spares most quick jobs their statement. */
  remove(requestId: string): void {
    this.waiting.delete(requestId);
  }

  async close(): Promise<void> {
    this.flush();
    await this.writing;
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.waiting.size === 0) return;
    const requestIds = [...this.waiting];
    this.waiting = new Set();
    this.writing = this.writing
      .then(() => this.write(requestIds))
      .catch((error: unknown) => {
        this.logger.warn({ error, count: requestIds.length }, 'started jobs could not be marked as running');
      });
  }
}
