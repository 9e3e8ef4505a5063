import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PriceList } from '#billing';
import { inputJobId, PlatformError } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { ModelType } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import type { ReplyEvent } from '#queue';
import { RateLimiter } from '#rate-limit';
import type { AdmittedUse, ModelDemand } from '../limits/model-limit.js';
import { applyModelLimit } from '../limits/rate-limits.js';
import { HttpExchange } from './http-exchange.js';
import { JobRunner, type StartedJob } from './job-runner.js';
import { ClientDisconnectedError } from './job-stream.js';
import { inputNeed, ModelRequest, type RequestSteps } from './model-request.js';
import { ModelResolver } from './model-resolver.js';
import { modelHeaders } from './request-headers.js';
import { StoreBudgets } from './store-budgets.js';
import { type EventPresenter, streamEvents } from './stream-events.js';

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
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(PriceList) private readonly prices: Pick<PriceList, 'current'>,
    @Inject(JobRunner) private readonly runner: JobRunner,
    @Inject(StoreBudgets) private readonly budgets: StoreBudgets,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'keepAliveMs' | 'stalledMs'>,
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
      if (!(error instanceof ClientDisconnectedError)) throw error;
      reply.hijack();
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
    return new ModelRequest(this.steps(), http, resolved);
  }

  /**
   * Resolves the model of an input adapter, which turns an input of a request into text for the request's own model.
   * Its job is a request of its own: other id, limits, reservation and charge. `position` counts the input jobs of a
   * request from 1. Rejects as `ModelResolver.resolve` does, and with `INVALID_REQUEST` for a model that the registry
   * does not have.
   */
  async openInput(http: HttpExchange, { id, type, param, position }: InputModel): Promise<ModelRequest> {
    const resolved = await this.models.resolve(id, type, http.request).catch((error: unknown) => {
      if (!(error instanceof PlatformError) || !otherType.includes(error.code)) throw error;
      throw new PlatformError('INVALID_REQUEST', `The model ${id} is not installed. ${inputNeed({ id })}`, param);
    });
    return new ModelRequest(this.steps(), http, resolved, { id: inputJobId(http.request.id, position), param });
  }

  /** Applies the limits of a model to a request. Rejects with `RATE_LIMIT_EXCEEDED` and `SERVICE_UNAVAILABLE`. */
  limit(http: Pick<HttpExchange, 'request' | 'reply'>, demand: ModelDemand): Promise<AdmittedUse> {
    return applyModelLimit({ limiter: this.limiter, budgets: this.budgets }, http, demand);
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

  private steps(): RequestSteps {
    return {
      price: (modelId, requestId) => this.budgets.of(requestId).within(this.prices.current(modelId)),
      limit: (exchange, demand) => this.limit(exchange, demand),
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
