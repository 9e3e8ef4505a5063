import { Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import { QueueTransport } from '#queue';
import { MediaJobsRepository, type ProgressNote } from './media-jobs.repository.js';

/** Pause between two writes, in ms. */
const flushEveryMs = 500;
const maxWaiting = 10_000;

/**
 * Writes the progress of async jobs, in batches. Runs in ops: workers know no database, and the api forgets async jobs
 * once they are queued. Any number of replicas may receive and write the same report.
 */
@Injectable()
export class ProgressRecorder {
  private waiting = new Map<string, ProgressNote>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly jobs: MediaJobsRepository,
    private readonly transport: QueueTransport,
    private readonly logger: Logger,
    @Optional() private readonly everyMs = flushEveryMs,
  ) {}

  start(): void {
    this.unsubscribe = this.transport.progress.subscribe((progress) => this.note(progress));
  }

  /** Writes the pending progress. */
  async close(): Promise<void> {
    this.unsubscribe();
    this.flush();
    await this.writing;
  }

  private note(progress: ProgressNote): void {
    if (this.waiting.size >= maxWaiting) return;
    this.waiting.set(progress.requestId, progress);
    this.timer ??= setTimeout(() => this.flush(), this.everyMs);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.waiting.size === 0) return;
    const notes = [...this.waiting.values()];
    this.waiting = new Map();
    const { jobs, logger } = this;
    this.writing = this.writing
      .then(() => jobs.noteProgress(notes))
      .catch((error: unknown) => {
        logger.warn({ error, count: notes.length }, 'the progress of jobs could not be written');
      });
  }
}
