import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PriceList } from '#billing';
import { inputJobId, PlatformError } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { ModelType } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { SseWriter } from '#platform/http';
import type { ReplyEvent } from '#queue';
import { OpenRequests, RateLimiter } from '#rate-limit';
import type { AdmittedUse, ModelDemand } from '../limits/model-limit.js';
import { applyModelLimit } from '../limits/rate-limits.js';
import type { CheckModel } from '../moderation/classifiers.js';
import { ContentPolicy } from '../moderation/content-policy.js';
import { HttpExchange } from './http-exchange.js';
import { JobRunner, type StartedJob } from './job-runner.js';
import { ClientDisconnectedError } from './job-stream.js';
import { ModelRequest, type RequestSteps } from './model-request.js';
import { ModelResolver } from './model-resolver.js';
import { ExpectedModels } from './expected-models.js';
import { modelHeaders } from './request-headers.js';
import { StoreBudgets } from './store-budgets.js';
import { type EventPresenter, failStream, streamEvents } from './stream-events.js';

/** Trait of the default model. */
const defaultTrait = 'default';

/** How a request names its model. */
export interface ModelName {
  /** Absent: the default model of the type. */
  name: string | null | undefined;
  /** Of several types, the first that has the name. */
  type: ModelType | readonly [ModelType, ...ModelType[]];
  /** An unknown name also selects the default model: OpenAI clients send OpenAI's model names. */
  unknownIsDefault?: boolean;
}

/** The model of an input adapter. */
export interface InputModel {
  /** Registry id, as the manifest of the request's model names it. */
  id: string;
  type: ModelType;
  /** Path of the input, to name in errors. */
  param: string;
  /** Number of the job among the input jobs of its request, from 1. */
  position: number;
}

const otherType: readonly string[] = ['MODEL_NOT_FOUND', 'INVALID_MODEL'];

/**
 * The path of every inference request: resolve the model, check that it is served, apply its limits, reserve its worst
 * case, admit its job, and relay the events. A controller opens a request with `open` and gets each further stage from
 * the one before: `ModelRequest`, `LimitedModelRequest`, `PaidJob`.
 */
@Injectable()
export class RequestPipeline {
  constructor(
    @Inject(ModelResolver) private readonly models: Pick<ModelResolver, 'resolve'>,
    private readonly limiter: RateLimiter,
    @Inject(PriceList) private readonly prices: Pick<PriceList, 'current'>,
    private readonly runner: JobRunner,
    private readonly budgets: StoreBudgets,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'keepAliveMs' | 'stalledMs'>,
    private readonly openRequests: OpenRequests,
    @Inject(ContentPolicy) private readonly policy: Pick<ContentPolicy, 'screen'>,
    @Inject(ExpectedModels) private readonly expected: Pick<ExpectedModels, 'isExpected'>,
  ) {}

  /**
   * Runs a handler and sends its result with status 200, unless the handler sent a response itself or the client
   * disconnected.
   */
  async handle(reply: FastifyReply, work: (http: HttpExchange) => Promise<unknown>): Promise<void> {
    const http = new HttpExchange(reply);
    void reply.status(200);
    try {
      const body = await work(http);
      if (body !== undefined) void reply.send(body);
    } catch (error) {
      if (error instanceof ClientDisconnectedError) reply.hijack();
      // A comment was sent while the request was prepared: the status line is gone.
      else if (http.preparing?.started) {
        http.noteFailure(error);
        await failStream(http.preparing, error, http.format);
      } else throw error;
    } finally {
      await http.end();
    }
  }

  /** Resolves the model and sets its headers. Rejects as `ModelResolver.resolve` does. */
  async open(http: HttpExchange, { name, type, unknownIsDefault = false }: ModelName): Promise<ModelRequest> {
    const wanted = name ?? defaultTrait;
    const types = typeof type === 'string' ? ([type] as const) : type;
    const resolved = await this.resolve(http.request, wanted, types).catch((error: unknown) => {
      const isUnknown = error instanceof PlatformError && error.code === 'MODEL_NOT_FOUND';
      if (!unknownIsDefault || !isUnknown || wanted === defaultTrait) throw error;
      return this.resolve(http.request, defaultTrait, types);
    });
    void http.reply.headers(modelHeaders(resolved));
    if (http.record) http.record.modelId = resolved.manifest.id;
    return new ModelRequest(this.steps(http), http, resolved);
  }

  /**
   * Resolves the model of an input adapter, which turns an input of a request into text for the request's own model.
   * Its job is a request of its own: other id, limits, reservation and charge. `position` counts the input jobs of a
   * request from 1. Rejects as `ModelResolver.resolve` does, and with `INVALID_REQUEST` for a model that this installation
   * does not have: no retry helps the client.
   */
  async openInput(http: HttpExchange, { id, type, param, position }: InputModel): Promise<ModelRequest> {
    const asAdapter = { isAdapter: true };
    const resolved = await this.models.resolve(id, type, http.request, asAdapter).catch((error: unknown) => {
      if (!(error instanceof PlatformError) || !otherType.includes(error.code)) throw error;
      throw notReadHere(id, param);
    });
    if (resolved.disabled || (resolved.offline && !this.expected.isExpected(id))) throw notReadHere(id, param);
    return new ModelRequest(this.steps(http), http, resolved, { id: inputJobId(http.request.id, position), param });
  }

  /**
   * Resolves a model that classifies an input of a request. Its job is a request of its own, whose texts are not checked
   * in turn. Rejects with `MODEL_OFFLINE` for a model that this installation does not have.
   */
  async openCheck(http: HttpExchange, { id: modelId, type, param }: CheckModel): Promise<ModelRequest> {
    const asAdapter = { isAdapter: true };
    const resolved = await this.models.resolve(modelId, type, http.request, asAdapter).catch((error: unknown) => {
      if (!(error instanceof PlatformError) || !otherType.includes(error.code)) throw error;
      throw notChecked(modelId, param);
    });
    if (resolved.disabled || (resolved.offline && !this.expected.isExpected(modelId))) throw notChecked(modelId, param);
    if (resolved.manifest.classifies === undefined) {
      const message = `The model ${modelId} classifies nothing, so this input cannot be checked.`;
      throw new PlatformError('SERVICE_UNAVAILABLE', message, param, { retry: 'never' });
    }
    const steps = { ...this.steps(http), screen: () => Promise.resolve() };
    const id = inputJobId(http.request.id, `check${http.nextCheck()}`);
    return new ModelRequest(steps, http, resolved, { id, param });
  }

  /** Applies the limits of a model to a request. Rejects as `applyModelLimit` does. */
  limit(http: Pick<HttpExchange, 'request' | 'reply'>, demand: ModelDemand): Promise<AdmittedUse> {
    const { limiter, budgets, openRequests: open } = this;
    return applyModelLimit({ limiter, budgets, open }, http, demand);
  }

  /** Sends a job as server-sent events. Rejects only while nothing was sent. */
  async stream<Event extends ReplyEvent>(
    { reply }: HttpExchange,
    job: StartedJob<Event>,
    presenter: EventPresenter<Event>,
  ): Promise<void> {
    const { keepAliveMs, stalledMs } = this.config;
    await streamEvents(reply, job, presenter, { keepAliveMs, stalledMs });
  }

  /** Sends comments to a client that streams while nothing else can be sent. */
  private async keepAlive<Result>(http: HttpExchange, work: () => Promise<Result>): Promise<Result> {
    const { keepAliveMs, stalledMs } = this.config;
    const writer = new SseWriter(http.reply, { keepAliveMs, stalledMs });
    http.preparing = writer;
    writer.startKeepAlive();
    try {
      return await work();
    } finally {
      writer.stopKeepAlive();
    }
  }

  private steps(http: HttpExchange): RequestSteps {
    return {
      keepAlive: (work) => this.keepAlive(http, work),
      price: (modelId, requestId) => this.budgets.of(requestId).within(this.prices.current(modelId)),
      limit: (exchange, demand) => this.limit(exchange, demand),
      screen: (job) => this.policy.screen(job, (model) => this.openCheck(http, model)),
      runner: this.runner,
    };
  }

  private async resolve(
    request: FastifyRequest,
    name: string,
    [type, ...others]: readonly [ModelType, ...ModelType[]],
  ): Promise<ResolvedModel> {
    try {
      return await this.models.resolve(name, type, request);
    } catch (error) {
      const [next, ...rest] = others;
      if (next === undefined || !(error instanceof PlatformError) || !otherType.includes(error.code)) throw error;
      return await this.resolve(request, name, [next, ...rest]);
    }
  }
}

/** The request is wrong for this installation, whatever model an operator could add. */
function notReadHere(id: string, param: string): PlatformError {
  const message = `This input cannot be read here: the model ${id}, which turns it into text, is not available. Leave it out, or use a model that reads it.`;
  return new PlatformError('INVALID_REQUEST', message, param);
}

/** Nothing is answered unchecked, and a retry finds the same. */
function notChecked(id: string, param: string | null): PlatformError {
  const message = `The model ${id}, which checks this input, is not available.`;
  return new PlatformError('MODEL_OFFLINE', message, param, { retry: 'never' });
}
