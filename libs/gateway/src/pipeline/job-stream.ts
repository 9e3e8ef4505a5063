import { type JobUsage, noTokens, PlatformError } from '#common';
import type { JobFailedEvent, JobFinishedEvent, JobStartedEvent, ReplyEvent, ReplyStream } from '#queue';

/** Signals that the client has disconnected: no response can be sent. */
export class ClientDisconnectedError extends Error {}

/** Aborts when no live worker serves the model; active until released. */
export interface AvailabilityLease {
  lost: AbortSignal;
  release: () => void;
}

export interface AbortSources {
  /** The connection of the caller. */
  disconnected: AbortSignal;
  /** The process is stopping and its grace period is over. */
  stopping: AbortSignal;
  /**
   * Starts to watch whether any live worker serves the model. Called when a job starts that cannot start twice: from
   * then on it dies with its worker.
   */
  watchAvailability: () => AvailabilityLease;
  /**
   * Starts to watch for a job that waits to begin, or may begin again: a worker may come back for it, but the job does
   * not wait forever.
   */
  watchQueue: () => AvailabilityLease;
  /** The response timeout, in ms, minus the time the request has waited before. */
  deadlineMs: number;
  /** Called whenever the job starts on a worker. */
  onStarted?: (run: JobRun) => void;
}

/** One run of a job on a worker. */
export interface JobRun {
  /** Pools and id of the worker; null if it does not say. */
  servedBy: string | null;
  /** How often the job was retried before. */
  retries: number;
}

/** Receives the events of the stream; the next one follows when it has resolved. */
type JobStreamListener<Event> = (event: Event) => Promise<void> | void;

/**
 * Passes the events of one job, which its slice defines, from its reply stream to `onEvent`, until the job ends or
 * something ends it early: a disconnect, the deadline, the process. Ending it early also cancels the job, so that no
 * model works for nothing.
 */
export class JobStream<Event extends ReplyEvent> {
  private interruption: Error | null = null;
  /** True once the slice received an event of the current delivery. */
  private hasDelivered = false;
  private starts = 0;
  private servedBy: string | null = null;
  private replica: AvailabilityLease | null = null;
  private accept: () => void = () => undefined;
  /** Resolves when the job can no longer be refused for its input; never for one that is. */
  readonly accepted = new Promise<void>((resolve) => (this.accept = resolve));

  constructor(
    private readonly slot: ReplyStream,
    private readonly job: { started(): void; ended(): void; cancel(): Promise<void> },
    /** Time already spent of the deadline, in ms. */
    private readonly waitedMs = 0,
  ) {}

  /**
   * Resolves with the usage of a finished job. Rejects with the job's own error, `REQUEST_TIMEOUT`,
   * `SERVICE_UNAVAILABLE` when the process stops, or `ClientDisconnectedError`. The next event is taken when `onEvent`
   * has resolved, so the reader sets the pace.
   *
   * A job that lost its worker may restart on another: `onRepeat` says that all events so far are void. Without it,
   * such a job ends with `MODEL_OFFLINE`.
   */
  async run(ends: AbortSources, onEvent: JobStreamListener<Event>, onRepeat?: () => void): Promise<JobUsage> {
    const release = this.watch(ends);
    this.follows(ends.watchQueue(), modelRemoved);
    try {
      const usage = await this.follow(ends, onEvent, onRepeat);
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
      this.slot.close();
    }
  }

  private async follow(
    ends: AbortSources,
    onEvent: JobStreamListener<Event>,
    onRepeat: (() => void) | undefined,
  ): Promise<JobUsage | null> {
    for await (const event of this.slot) {
      if (this.interruption !== null) return null;
      if (event.type === 'job-started') this.start(event as JobStartedEvent, ends, onRepeat);
      else if (event.type === 'job-finished') return (event as JobFinishedEvent).usage ?? noTokens;
      else if (event.type === 'job-failed')
        throw new JobFailure(PlatformError.fromWire((event as JobFailedEvent).error));
      else if (event.type === 'job-accepted') this.accept();
      // Events that the queue does not send itself come from the slice's own processor.
      else {
        this.hasDelivered = true;
        this.accept();
        await onEvent(event as Event);
      }
    }
    return null;
  }

  private start(event: JobStartedEvent, ends: AbortSources, onRepeat: (() => void) | undefined): void {
    const { watchAvailability, watchQueue, onStarted } = ends;
    if (this.hasDelivered && onRepeat === undefined) throw workerGone();
    if (this.hasDelivered) onRepeat?.();
    this.hasDelivered = false;
    this.job.started();
    this.starts += 1;
    this.servedBy = event.servedBy ?? this.servedBy;
    onStarted?.({ servedBy: this.servedBy, retries: Math.max(this.starts - 1, event.retries ?? 0) });
    // A job that was returned to the queue starts again, on a worker that is watched anew.
    this.follows(onRepeat === undefined ? watchAvailability() : watchQueue(), workerGone);
  }

  private follows(replica: AvailabilityLease, reason: () => PlatformError): void {
    this.replica?.release();
    this.replica = replica;
    // What it sent before it stopped is still a response, perhaps a complete one: the reader may be slower than the
    // worker.
    const onLost = (): void => this.slot.fail(reason());
    if (replica.lost.aborted) onLost();
    else replica.lost.addEventListener('abort', onLost, { once: true });
  }

  private interrupt(reason: Error): void {
    this.interruption ??= reason;
    this.slot.close();
  }

  private watch({ disconnected, stopping, deadlineMs }: AbortSources): () => void {
    const interrupt = (reason: Error): void => this.interrupt(reason);
    const onDisconnect = (): void => interrupt(new ClientDisconnectedError());
    const onStop = (): void => interrupt(new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.'));
    const timer = setTimeout(
      () =>
        interrupt(new PlatformError('REQUEST_TIMEOUT', 'The answer took too long. Streaming shows it as it is made.')),
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

function workerGone(): PlatformError {
  return new PlatformError('MODEL_OFFLINE', 'The worker that generated this response is gone.');
}

/** The job itself failed: it needs no cancellation. */
class JobFailure extends Error {
  constructor(readonly reason: PlatformError) {
    super(reason.message);
  }
}
