import { type JobUsage, noTokens, PlatformError } from '#common';
import type { JobFailedEvent, JobFinishedEvent, ReplyEvent, ReplyStream } from '#queue';

/** Thrown when the client disconnected: there is no response to send. */
export class ClientDisconnectedError extends Error {}

/** Aborts when no live worker serves the model; watched until released. */
export interface AvailabilityLease {
  lost: AbortSignal;
  release: () => void;
}

export interface AbortSources {
  /** The client's connection. */
  disconnected: AbortSignal;
  /** The process stops and its grace has ended. */
  stopping: AbortSignal;
  /**
   * Watches whether any live worker serves the model. Called when a job starts that cannot restart: it fails if its
   * worker is lost.
   */
  watchAvailability: () => AvailabilityLease;
  /** The same for a job that waits to start or may restart: another worker may take it, within a limited time. */
  watchQueue: () => AvailabilityLease;
  /** Deadline of the response in ms, without the time that the request already waited. */
  deadlineMs: number;
}

/** Handles an event; the next one is read when it resolves. */
type JobStreamListener<Event> = (event: Event) => Promise<void> | void;

/**
 * Passes the events of one job, which its slice defines, from its reply stream to `onEvent` until the job ends or the
 * client, the deadline or the process ends it. An early end also cancels the job.
 */
export class JobStream<Event extends ReplyEvent> {
  private interruption: Error | null = null;
  /** True once the slice got an event of the current delivery. */
  private hasDelivered = false;
  private replica: AvailabilityLease | null = null;

  constructor(
    private readonly replies: ReplyStream,
    private readonly job: { started(): void; ended(): void; cancel(): Promise<void> },
    /** Time already used of the deadline, in ms. */
    private readonly waitedMs = 0,
  ) {}

  /**
   * Resolves with the usage of a job that finished. Rejects with the job's own error, `REQUEST_TIMEOUT`,
   * `SERVICE_UNAVAILABLE` when the process stops, or `ClientDisconnectedError`. The next event is read when `onEvent`
   * has resolved, so the reader sets the pace.
   *
   * A job that lost its worker may restart on another: `onRepeat` says that all events so far are void. Without it,
   * such a job ends with `MODEL_OFFLINE`.
   */
  async run(sources: AbortSources, onEvent: JobStreamListener<Event>, onRepeat?: () => void): Promise<JobUsage> {
    const release = this.watch(sources);
    this.follows(sources.watchQueue(), modelRemoved);
    try {
      const usage = await this.follow(sources, onEvent, onRepeat);
      if (usage !== null) {
        this.job.ended();
        return usage;
      }
      throw this.interruption ?? new PlatformError('INFERENCE_FAILED', 'The response ended before it was complete.');
    } catch (error) {
      if (!(error instanceof JobFailure)) await this.job.cancel();
      throw error instanceof JobFailure ? error.reason : error;
    } finally {
      release();
      this.replica?.release();
      this.replies.close();
    }
  }

  private async follow(
    sources: AbortSources,
    onEvent: JobStreamListener<Event>,
    onRepeat: (() => void) | undefined,
  ): Promise<JobUsage | null> {
    for await (const event of this.replies) {
      if (this.interruption !== null) return null;
      if (event.type === 'job-started') this.start(sources, onRepeat);
      else if (event.type === 'job-finished') return (event as JobFinishedEvent).usage ?? noTokens;
      else if (event.type === 'job-failed')
        throw new JobFailure(PlatformError.fromWire((event as JobFailedEvent).error));
      // All other events come from the slice's processor.
      else {
        this.hasDelivered = true;
        await onEvent(event as Event);
      }
    }
    return null;
  }

  private start({ watchAvailability, watchQueue }: AbortSources, onRepeat: (() => void) | undefined): void {
    if (this.hasDelivered && onRepeat === undefined) throw workerLost();
    if (this.hasDelivered) onRepeat?.();
    this.hasDelivered = false;
    this.job.started();
    // A released job starts again, on another worker to watch.
    this.follows(onRepeat === undefined ? watchAvailability() : watchQueue(), workerLost);
  }

  private follows(replica: AvailabilityLease, reason: () => PlatformError): void {
    this.replica?.release();
    this.replica = replica;
    // Events sent before the worker was lost are still valid and may be complete: the reader may be slower than the
    // worker.
    const onLost = (): void => this.replies.fail(reason());
    if (replica.lost.aborted) onLost();
    else replica.lost.addEventListener('abort', onLost, { once: true });
  }

  private interrupt(reason: Error): void {
    this.interruption ??= reason;
    this.replies.close();
  }

  private watch({ disconnected, stopping, deadlineMs }: AbortSources): () => void {
    const interrupt = (reason: Error): void => this.interrupt(reason);
    const onDisconnect = (): void => interrupt(new ClientDisconnectedError());
    const onStop = (): void => interrupt(new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.'));
    const timer = setTimeout(
      () =>
        interrupt(
          new PlatformError('REQUEST_TIMEOUT', 'The response took too long. Streaming shows it as it is made.'),
        ),
      Math.max(0, deadlineMs - this.waitedMs),
    );
    disconnected.addEventListener('abort', onDisconnect, { once: true });
    stopping.addEventListener('abort', onStop, { once: true });
    if (disconnected.aborted) onDisconnect();
    if (stopping.aborted) onStop();
    return () => {
      clearTimeout(timer);
      disconnected.removeEventListener('abort', onDisconnect);
      stopping.removeEventListener('abort', onStop);
    };
  }
}

function modelRemoved(): PlatformError {
  return new PlatformError('MODEL_OFFLINE', 'No worker serves the model any more. Try again later.');
}

function workerLost(): PlatformError {
  return new PlatformError('MODEL_OFFLINE', 'The worker that ran this request was lost.');
}

/** The job itself failed and needs no cancellation. */
class JobFailure extends Error {
  constructor(readonly reason: PlatformError) {
    super(reason.message);
  }
}
