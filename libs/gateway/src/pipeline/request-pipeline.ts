import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PriceList } from '#billing';
import { PlatformError } from '#common';
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
import { ModelRequest } from './model-request.js';
import { ModelResolver } from './model-resolver.js';
import { modelHeaders } from './request-headers.js';
import { StoreBudgets } from './store-budgets.js';
import { type EventPresenter, streamEvents } from './stream-events.js';

/** Trait of the model for requests that name none. */
const defaultTrait = 'default';

/** How a request names its model. */
export interface ModelName {
  /** Absent: the default model of the type. */
  name: string | null | undefined;
  /** Of several types, the first that knows the name. */
  type: ModelType | readonly [ModelType, ...ModelType[]];
  /** An unknown name means the default model too: clients of OpenAI send the names of OpenAI's models. */
  unknownIsDefault?: boolean;
}

const otherType: readonly string[] = ['MODEL_NOT_FOUND', 'INVALID_MODEL'];

/**
 * The path of every inference request: resolve the model, check that it is served, hold the request to its limits,
 * reserve its worst case, admit its job, and relay the events. A controller opens a request with `open` and gets each
 * further stage from the one before: `ModelRequest`, `LimitedModelRequest`, `PaidJob`.
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
   * Runs a handler and sends what it resolves to with status 200, unless it sent a response itself. When the client
   * disconnected, nothing is sent.
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
    const steps = {
      price: (modelId: string, requestId: string) => this.budgets.of(requestId).within(this.prices.current(modelId)),
      limit: (exchange: HttpExchange, demand: ModelDemand) => this.limit(exchange, demand),
      runner: this.runner,
    };
    return new ModelRequest(steps, http, resolved);
  }

  /** Holds a request to the limits of a model. Rejects with `RATE_LIMIT_EXCEEDED` and `SERVICE_UNAVAILABLE`. */
  limit(http: Pick<HttpExchange, 'request' | 'reply'>, demand: ModelDemand): Promise<AdmittedUse> {
    return applyModelLimit({ limiter: this.limiter, budgets: this.budgets }, http, demand);
  }

  /** Sends a job as server-sent events. Rejects while nothing was sent. */
  async stream<Event extends ReplyEvent>(
    { reply }: HttpExchange,
    job: StartedJob<Event>,
    presenter: EventPresenter<Event>,
  ): Promise<void> {
    const { keepAliveMs, stalledMs } = this.config;
    await streamEvents(reply, job, presenter, { keepAliveMs, stalledMs });
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
