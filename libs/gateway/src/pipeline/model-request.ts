import { randomUUID } from 'node:crypto';
import type { JobQuote, ModelPrice } from '#billing';
import { type JobUsage, PlatformError } from '#common';
import type { MediaDelivery, OpenRequest } from '#jobs';
import type { ResolvedModel } from '#model-registry';
import type { ModelManifest } from '#model-registry/manifest';
import { callerOf } from '#platform/http';
import type { JobDefinition, ReplyEvent } from '#queue';
import type { AdmittedUse, ModelDemand } from '../limits/model-limit.js';
import { admitAffordable, type AffordablePayload } from './affordable-admission.js';
import type { HttpExchange } from './http-exchange.js';
import type { JobRunner, StartedJob } from './job-runner.js';
import type { JobRun } from './job-stream.js';
import { backendHeaders, balanceHeaders } from './request-headers.js';

/** The job that a slice wants to run. */
export interface JobOrder<Payload extends object> extends AffordablePayload<Payload> {
  definition: JobDefinition<Payload, object>;
  /** Ms from now; default: the definition's policy. */
  deadlineMs?: number;
  /** Identifies requests of one conversation. */
  affinity?: () => string;
}

/** A running job and its reservation. */
export interface PaidJob<Event extends ReplyEvent> extends StartedJob<Event> {
  quote: JobQuote;
}

/** Steps of the pipeline that the stages of a request call. */
export interface RequestSteps {
  price(modelId: string, requestId: string): Promise<ModelPrice>;
  limit(http: HttpExchange, demand: ModelDemand): Promise<AdmittedUse>;
  runner: JobRunner;
}

/** A job that turns an input of a request into text for the model of the request. */
export interface InputJob {
  /** Id of the job, from `inputJobId`. */
  id: string;
  /** Field to name where the model cannot take the input. */
  param: string;
}

/** A request whose model is known. Only `limit` leads to a job, so nothing runs before its limits were checked. */
export class ModelRequest {
  private knownPrice: Promise<ModelPrice> | null = null;

  constructor(
    private readonly steps: RequestSteps,
    readonly http: HttpExchange,
    readonly resolved: ResolvedModel,
    /** Set if the job is not the request's own: it then has an id, limits and a charge of its own, but no headers. */
    readonly input: InputJob | null = null,
  ) {}

  /** Id of the job. */
  get jobId(): string {
    return this.input?.id ?? this.http.request.id;
  }

  get manifest(): ModelManifest {
    return this.resolved.manifest;
  }

  /** Throws `MODEL_OFFLINE` if no live worker serves the model. */
  requireServed(): void {
    if (!this.resolved.offline) return;
    const message = `No worker serves the model ${this.manifest.id} at the moment.`;
    throw this.input === null
      ? new PlatformError('MODEL_OFFLINE', message, 'model')
      : new PlatformError('MODEL_OFFLINE', `${message} ${inputNeed(this.manifest)}`, this.input.param);
  }

  /** Returns the model's current price, looked up once per request. Rejects with `SERVICE_UNAVAILABLE`. */
  price(): Promise<ModelPrice> {
    this.knownPrice ??= this.steps.price(this.manifest.id, this.jobId);
    return this.knownPrice;
  }

  /**
   * Applies the rate limits of a served model to a valid request and sets `x-ratelimit-*`. Rejects with
   * `MODEL_OFFLINE`, `RATE_LIMIT_EXCEEDED`, or `SERVICE_UNAVAILABLE` if the limits cannot be checked. `needsWorker:
   * false` is for requests that no worker serves.
   */
  async limit({
    tokens,
    needsWorker = true,
  }: { tokens?: ModelDemand['tokens']; needsWorker?: boolean } = {}): Promise<LimitedModelRequest> {
    if (needsWorker) this.requireServed();
    const use = await this.steps.limit(this.http, { model: this.manifest, tokens, setsHeaders: this.input === null });
    return new LimitedModelRequest(this.steps, this, use, await this.price());
  }
}

/** A request within its limits, which may be admitted. Only `ModelRequest.limit` creates it. */
export class LimitedModelRequest {
  constructor(
    private readonly steps: RequestSteps,
    private readonly model: ModelRequest,
    private readonly use: AdmittedUse,
    readonly price: ModelPrice,
  ) {}

  /** Tokens that the request may use, at most what it asked for. */
  get tokens(): number {
    return this.use.tokens;
  }

  /** Admits a job and opens the stream of its events. Sets the balance headers. Rejects as `JobRunner.admit` does. */
  async start<Payload extends object, Event extends ReplyEvent>(
    order: JobOrder<Payload>,
    { stream = false }: { stream?: boolean } = {},
  ): Promise<PaidJob<Event>> {
    const { jobId } = this.model;
    const { disconnected, request, reply } = this.model.http;
    const onStarted = (run: JobRun): void => {
      // Jobs that only prepare an input have ids of their own.
      if (jobId === request.id && !reply.raw.headersSent) void reply.headers(backendHeaders(run));
    };
    const deadlineMs = order.deadlineMs ?? order.definition.policy.deadlineMs;
    const job = { requestId: jobId, modelId: this.model.manifest.id, deadlineMs, disconnected, onStarted };
    let quote!: JobQuote;
    const started = await this.steps.runner.start<Event>(job, async (replyTo) => {
      quote = await this.admit(order, { replyTo, stream, deadlineMs });
    });
    return Object.assign(started, { quote });
  }

  /** Runs a job to its end and collects its events. Rejects as `start` and `StartedJob.follow` do. */
  async collect<Payload extends object, Collector extends { add(event: never): void }>(
    order: JobOrder<Payload>,
    newCollector: () => Collector,
  ): Promise<{ collected: Collector; usage: JobUsage }> {
    return await collectEvents(await this.start<Payload, ReplyEvent>(order), newCollector);
  }

  /** Admits a job that no client waits for; resolves to its queue id. Rejects as `JobRunner.admit` does. */
  async queue<Payload extends object>(
    order: JobOrder<Payload>,
    media: { delivery: MediaDelivery; inputArtifacts: readonly string[] },
  ): Promise<string> {
    const queueId = randomUUID();
    await this.admit(order, { replyTo: null, stream: false, media: { queueId, ...media } });
    return queueId;
  }

  private async admit<Payload extends object>(
    order: JobOrder<Payload>,
    options: Pick<OpenRequest, 'replyTo' | 'stream' | 'media' | 'deadlineMs'>,
  ): Promise<JobQuote> {
    const { request, reply } = this.model.http;
    const { definition, deadlineMs, affinity } = order;
    const job = {
      requestId: this.model.jobId,
      caller: callerOf(request),
      definition,
      modelId: this.model.manifest.id,
      deadlineMs,
      affinity,
      tokenReservation: this.use.tokenReservation,
      ...options,
    };
    return await admitAffordable(
      order,
      this.price,
      (payload, quote) => this.steps.runner.admit({ ...job, payload, quote }),
      (quote) => this.model.input === null && void reply.headers(balanceHeaders(quote)),
    );
  }
}

/** Says what an operator does about an input adapter that is not served. */
export function inputNeed({ id }: Pick<ModelManifest, 'id'>): string {
  return `It turns this input into text: install it with \`sluice models pull ${id}\`.`;
}

/** Collects the events of a job, from the start again if it restarts. */
export async function collectEvents<Collector extends { add(event: never): void }>(
  job: StartedJob<ReplyEvent>,
  newCollector: () => Collector,
): Promise<{ collected: Collector; usage: JobUsage }> {
  let collected = newCollector();
  const usage = await job.follow(
    (event) => collected.add(event as never),
    () => (collected = newCollector()),
  );
  return { collected, usage };
}
