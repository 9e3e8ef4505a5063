import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type JobUsage, PlatformError } from '#common';
import { AdmissionService, type JobPreparation, JobsService, type OpenRequest } from '#jobs';
import { Logger } from '#platform/logging';
import { noTracing, Tracing } from '#platform/tracing';
import { QueueTransport, type ReplyEvent } from '#queue';
import { Drain } from './drain.js';
import { ClientDisconnectedError, JobStream, type JobRun } from './job-stream.js';
import { ModelAvailabilityWatcher } from './model-availability-watcher.js';
import { StoreBudgets } from '../request/store-budgets.js';

/** How long a job that has not started, or may start again, waits for its model, in ms: longer than a worker restart. */
const queuedPatienceMs = 30_000;

/**
 * How long the end of a request waits for the cancellation of its job, in ms; the cancellation continues after that.
 */
const cancelWithinMs = 500;

type EventListener<Event extends ReplyEvent> = (event: Event) => Promise<void> | void;

/** A job that was admitted and whose events arrive in this process. */
export interface StartedJob<Event extends ReplyEvent> {
  /**
   * Resolves when the job can no longer be refused for its input. Where it is set, nothing is sent to the client before,
   * so that the refusal is the status of the response.
   */
  accepted?: Promise<void>;
  /**
   * Passes on every event until the job ends. Rejects as `JobStream.run` does. `onRepeat`: the job restarted on another
   * worker, so all events so far are void. Without it such a job ends with `MODEL_OFFLINE`.
   */
  follow(onEvent: EventListener<Event>, onRepeat?: () => void): Promise<JobUsage>;
}

/** A job whose client waits for it. */
export interface JobToStart {
  requestId: string;
  modelId: string;
  deadlineMs: number;
  /** The client's connection. */
  disconnected: AbortSignal;
  /** Called whenever the job starts on a worker. */
  onStarted?: (run: JobRun) => void;
}

/** Work on a payload between the admission of its job and the queue. */
export interface PayloadPreparation {
  /** Maximum time it takes, in ms; it returns soon after `signal` aborts. */
  maxMs: number;
  /** The client's connection. */
  disconnected: AbortSignal;
  complete(signal: AbortSignal): Promise<object>;
}

/** A job to admit. */
export type JobToAdmit = Omit<OpenRequest, 'preparation'> & { preparation?: PayloadPreparation };

/** Admits jobs and connects this process to their events, their cancellation and their deadline. */
@Injectable()
export class JobRunner {
  constructor(
    private readonly admission: AdmissionService,
    private readonly jobs: JobsService,
    private readonly transport: QueueTransport,
    private readonly replicas: ModelAvailabilityWatcher,
    private readonly drain: Drain,
    private readonly budgets: StoreBudgets,
    private readonly logger: Logger,
    private readonly tracing: Tracing = noTracing,
  ) {}

  /** Whether a request may wait for a model that no worker has ready (`ModelAvailabilityWatcher.mayReturn`). */
  mayWait(modelId: string): boolean {
    return this.replicas.mayReturn(modelId);
  }

  /**
   * Rejects with `MODEL_AT_CAPACITY`, `SERVICE_UNAVAILABLE`, `ReservationRefused` if the account cannot pay, and as the
   * preparation does; with `ClientDisconnectedError` for a client that left during it.
   */
  async admit({ preparation, ...request }: JobToAdmit): Promise<void> {
    const span = this.beginSpan(request, 'admission');
    try {
      if (preparation === undefined) await this.admission.open(request);
      else await this.admission.open({ ...request, preparation: this.untilStopped(preparation) });
      span.end();
    } catch (error) {
      span.end({ error: PlatformError.from(error).code });
      throw error;
    }
  }

  /**
   * Opens the reply stream before `admit` admits the job, so that no event is missed. `admit` gets the address that
   * workers reply to. Rejects as `admit` does. A job of a model without a ready replica waits for one for a while, and
   * then ends with `MODEL_OFFLINE`.
   */
  async start<Event extends ReplyEvent>(
    { requestId, modelId, deadlineMs, disconnected, onStarted }: JobToStart,
    admit: (replyTo: string) => Promise<unknown>,
  ): Promise<StartedJob<Event>> {
    const replies = this.transport.replies.open({ requestId, modelId });
    let firstWatch = this.replicas.stateOf(modelId) === 'ready' ? null : this.replicas.watchReturn(modelId);
    try {
      await admit(this.transport.replies.address);
    } catch (error) {
      replies.close();
      firstWatch?.release();
      throw error;
    }
    const wait = this.beginSpan({ requestId, modelId }, 'queue.wait');
    const stream = new JobStream<Event>(replies, this.controlsOf(requestId), this.budgets.of(requestId).spentMs);
    const sources = {
      disconnected,
      stopping: this.drain.expired,
      watchAvailability: () => this.replicas.watch(modelId),
      watchQueue: () => {
        const watch = firstWatch ?? this.replicas.watch(modelId, queuedPatienceMs);
        firstWatch = null;
        return watch;
      },
      deadlineMs,
      onStarted: (run: JobRun) => {
        wait.end();
        onStarted?.(run);
      },
    };
    // A job that never starts waited to its end.
    return {
      accepted: stream.accepted,
      follow: (onEvent, onRepeat) => stream.run(sources, onEvent, onRepeat).finally(() => wait.end()),
    };
  }

  /** Begins a span below that of the request: its id is a suffix of the job's. Ending it twice has no effect. */
  private beginSpan(
    { requestId, modelId }: Pick<OpenRequest, 'requestId' | 'modelId'>,
    name: 'admission' | 'queue.wait',
  ): { end(end?: { error: string }): void } {
    const { tracing } = this;
    if (!tracing.enabled) return { end: () => undefined };
    const id = `${requestId}#${name}`;
    const attributes = { 'sluice.request_id': requestId, 'gen_ai.request.model': modelId };
    tracing.begin(id, { name, kind: 'internal', parent: tracing.parentFor(requestId), attributes });
    return { end: (end) => tracing.end(id, end) };
  }

  /** One job from its admission to its last event. Rejects as `admit` and `JobStream.run` do. */
  async run<Event extends ReplyEvent>(
    job: Omit<OpenRequest, 'replyTo' | 'stream'> & { disconnected: AbortSignal },
    onEvent: EventListener<Event>,
  ): Promise<JobUsage> {
    const { disconnected, ...request } = job;
    const deadlineMs = request.deadlineMs ?? request.definition.policy.deadlineMs;
    const started = await this.start<Event>({ ...request, deadlineMs, disconnected }, (replyTo) =>
      this.admit({ ...request, deadlineMs, replyTo, stream: false }),
    );
    return await started.follow(onEvent);
  }

  private untilStopped({ maxMs, disconnected, complete }: PayloadPreparation): JobPreparation {
    const { expired } = this.drain;
    return {
      maxMs,
      disconnected,
      complete: async () => {
        const payload = await complete(AbortSignal.any([disconnected, expired]));
        if (disconnected.aborted) throw new ClientDisconnectedError();
        if (expired.aborted) throw new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.');
        return payload;
      },
    };
  }

  private controlsOf(requestId: string): { started(): void; ended(): void; cancel(): Promise<void> } {
    return {
      started: () => this.jobs.markStarted(requestId),
      ended: () => this.jobs.markEnded(requestId),
      cancel: async () => {
        const cancelled = this.jobs
          .cancel(requestId)
          .catch((error: unknown) => this.logger.warn({ requestId, error }, 'job cancellation failed'));
        await Promise.race([cancelled, sleep(cancelWithinMs, undefined, { ref: false })]);
      },
    };
  }
}
