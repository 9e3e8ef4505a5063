import { randomUUID } from 'node:crypto';
import type { JobQuote, ModelPrice } from '#billing';
import { type JobUsage, PlatformError } from '#common';
import type { MediaDelivery, OpenRequest } from '#jobs';
import type { ResolvedModel } from '#model-registry';
import type { ModelManifest } from '#model-registry/manifest';
import { callerOf, type HttpExchange } from '#platform/http';
import { findExcess, type JobDefinition, type ReplyEvent, type UsageBounds } from '#queue';
import type { AdmittedUse, ModelDemand } from '../limits/model-limit.js';
import type { ScreenedJob } from './policy/prompt-texts.js';
import type { AccessRecord } from '../access-log/access-record.js';
import { admitAffordable, type AffordablePayload } from './affordable-admission.js';
import type { JobRunner, StartedJob } from './job-runner.js';
import type { JobRun } from './job-stream.js';
import { backendHeaders, balanceHeaders } from '../request/request-headers.js';

/** The job that a slice wants to run. */
export interface JobSpec<Payload extends object> extends AffordablePayload<Payload> {
  definition: JobDefinition<Payload, object>;
  /** Ms from now; default: the definition's policy. */
  deadlineMs?: number;
  /** A key that the requests of one conversation share. */
  affinity?: () => string;
  /** The only worker that can run it, by its process id; absent: any. */
  onlyWorkerId?: string;
  /** The id in the response's body, if it is not the request id. */
  responseId?: string;
  /** Whether nothing is sent before the job is accepted, which its worker must say. Default: comments may be. */
  awaitsAcceptance?: boolean;
  /** Completes the payload after its worst case is reserved and before the queue gets it. */
  preparation?: SpecPreparation<Payload>;
}

/** Work on an admitted payload, which may only make it cheaper. Returns soon after `signal` aborts. */
export interface SpecPreparation<Payload> {
  /** Maximum time it takes, in ms. */
  maxMs: number;
  complete(admitted: Payload, signal: AbortSignal): Promise<Payload>;
}

/** A running job and its reservation. */
export interface PaidJob<Event extends ReplyEvent> extends StartedJob<Event> {
  quote: JobQuote;
}

/** Steps of the pipeline that the stages of a request call. */
export interface RequestSteps {
  price(modelId: string, requestId: string): Promise<ModelPrice>;
  limit(http: HttpExchange, demand: ModelDemand): Promise<AdmittedUse>;
  /** Rejects with `CONTENT_POLICY_VIOLATION` if the operator's policy does not allow the texts of a job. */
  screen(job: ScreenedJob): Promise<void>;
  runner: JobRunner;
  /** Does work in silence, during which a client that streams gets comments. */
  keepAlive<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** A job that turns an input of a request into text for the model of the request, or that checks it. */
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

  /** The entry in the access log; null for a job that is not the request's own. */
  get record(): AccessRecord | null {
    return this.input === null ? (this.http.request.accessRecord ?? null) : null;
  }

  get manifest(): ModelManifest {
    return this.resolved.manifest;
  }

  /** Throws `MODEL_OFFLINE` if no live worker serves the model, unless one is being replaced or loads it. */
  requireServed(): void {
    const { offline, disabled } = this.resolved;
    if (!offline || (!disabled && this.steps.runner.mayWait(this.manifest.id))) return;
    throw this.offlineError();
  }

  /** Throws `MODEL_OFFLINE` if the operator took the model offline. Other jobs wait for a worker as long as it takes. */
  requireEnabled(): void {
    if (this.resolved.disabled) throw this.offlineError();
  }

  private offlineError(): PlatformError {
    const { id } = this.manifest;
    const param = this.input?.param ?? 'model';
    // Until the operator changes that, a retry finds the same.
    if (this.resolved.disabled) {
      return new PlatformError('MODEL_OFFLINE', `The model ${id} was taken offline.`, param, { retry: 'never' });
    }
    return new PlatformError('MODEL_OFFLINE', `No worker serves the model ${id} at the moment.`, param);
  }

  /** Checks texts early, where something is charged before the job itself. Rejects as the steps' `screen` does. */
  screen(job: ScreenedJob): Promise<void> {
    return this.steps.screen(job);
  }

  /** Returns the model's current price, looked up once per request. Rejects with `SERVICE_UNAVAILABLE`. */
  price(): Promise<ModelPrice> {
    this.knownPrice ??= this.steps.price(this.manifest.id, this.jobId);
    return this.knownPrice;
  }

  /**
   * Applies the rate limits of a served model to a valid request and sets `x-ratelimit-*`. Rejects with
   * `MODEL_OFFLINE`, `RATE_LIMIT_EXCEEDED`, or `SERVICE_UNAVAILABLE` if the limits cannot be checked. `needsWorker:
   * false` is for requests that no worker serves or that wait for one, `isCounted: false` for checks of requests that
   * were limited themselves.
   */
  async limit({
    tokens,
    needsWorker = true,
    isCounted = true,
  }: {
    tokens?: ModelDemand['tokens'];
    needsWorker?: boolean;
    isCounted?: boolean;
  } = {}): Promise<LimitedModelRequest> {
    if (needsWorker) this.requireServed();
    const uncounted = { tokens: 0, tokenReservation: null };
    if (!isCounted) return new LimitedModelRequest(this.steps, this, uncounted, await this.price());
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
    jobSpec: JobSpec<Payload>,
    { stream = false }: { stream?: boolean } = {},
  ): Promise<PaidJob<Event>> {
    const { jobId } = this.model;
    const { disconnected, request, reply } = this.model.http;
    const record = this.model.record;
    const onStarted = (run: JobRun): void => {
      if (record) record.worker = run.servedBy;
      if (jobId === request.id) request.exchangeSigning?.ranOn({ ...host, servedBy: run.servedBy });
      // Jobs that only prepare an input have ids of their own.
      if (jobId === request.id && !reply.raw.headersSent) void reply.headers(backendHeaders(run));
    };
    const host = { modelId: this.model.manifest.id, responseId: jobSpec.responseId ?? jobId };
    const deadlineMs = jobSpec.deadlineMs ?? jobSpec.definition.policy.deadlineMs;
    const job = { requestId: jobId, modelId: this.model.manifest.id, deadlineMs, disconnected, onStarted };
    let quote!: JobQuote;
    const started = await this.steps.runner.start<Event>(job, async (replyTo) => {
      quote = await this.admit(jobSpec, { replyTo, stream, deadlineMs });
    });
    const { modality } = jobSpec.definition;
    const follow: typeof started.follow = async (onEvent, onRepeat) => {
      const usage = requireWithin(quote.bounds, await started.follow(onEvent, onRepeat));
      const { modelId, pricing } = quote.price;
      if (record) record.finishedJob = { modality, modelId, usage, pricing };
      return usage;
    };
    return { follow, quote, ...(jobSpec.awaitsAcceptance === true && { accepted: started.accepted }) };
  }

  /** Runs a job to its end and collects its events. Rejects as `start` and `StartedJob.follow` do. */
  async collect<Payload extends object, Collector extends { add(event: never): void }>(
    jobSpec: JobSpec<Payload>,
    newCollector: () => Collector,
  ): Promise<{ collected: Collector; usage: JobUsage }> {
    return await collectEvents(await this.start<Payload, ReplyEvent>(jobSpec), newCollector);
  }

  /** Admits a job that no client waits for; resolves to its queue id. Rejects as `JobRunner.admit` does. */
  async queue<Payload extends object>(
    jobSpec: JobSpec<Payload>,
    media: { delivery: MediaDelivery; inputArtifacts: readonly string[] },
  ): Promise<string> {
    const queueId = randomUUID();
    await this.admit(
      { ...jobSpec, responseId: queueId },
      { replyTo: null, stream: false, media: { queueId, ...media } },
    );
    return queueId;
  }

  private async admit<Payload extends object>(
    jobSpec: JobSpec<Payload>,
    options: Pick<OpenRequest, 'replyTo' | 'stream' | 'media' | 'deadlineMs'>,
  ): Promise<JobQuote> {
    const { request, reply, disconnected } = this.model.http;
    await this.steps.screen({ modality: jobSpec.definition.modality, payload: jobSpec.payload });
    const { definition, deadlineMs, affinity, onlyWorkerId, responseId, preparation } = jobSpec;
    const setHeaders = (quote: JobQuote): void => {
      if (this.model.input === null && !reply.raw.headersSent)
        void reply.headers(balanceHeaders(quote, request.caller));
    };
    const { record } = this.model;
    const prepared = (payload: Payload, quote: JobQuote) => ({
      payload,
      ...(preparation && {
        preparation: {
          maxMs: preparation.maxMs,
          disconnected,
          complete: async (signal: AbortSignal) => {
            const complete = () => preparation.complete(payload, signal);
            if (!options.stream) return await complete();
            // Comments may begin the response.
            setHeaders(quote);
            return await this.steps.keepAlive(complete);
          },
        },
      }),
    });
    const job = {
      requestId: this.model.jobId,
      caller: callerOf(request),
      definition,
      modelId: this.model.manifest.id,
      deadlineMs,
      affinity,
      onlyWorkerId,
      responseId,
      tokenReservation: this.use.tokenReservation,
      ...options,
    };
    const quote = await admitAffordable(
      jobSpec,
      this.price,
      (payload, tried) =>
        this.steps.runner.admit({ ...job, ...prepared(payload, tried), bounds: tried.bounds, quote: tried }),
      setHeaders,
    );
    if (record) record.reservedNano = quote.amountNano;
    return quote;
  }
}

/** What a worker reports must be possible, or its response is worth as little as its bill. */
function requireWithin(bounds: UsageBounds, usage: JobUsage): JobUsage {
  if (findExcess(usage, bounds) === null) return usage;
  throw new PlatformError('INFERENCE_FAILED', 'The worker reported more usage than the request allows.');
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
