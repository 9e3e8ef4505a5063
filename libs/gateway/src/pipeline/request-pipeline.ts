import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PriceList } from '#billing';
import { inputJobId, PlatformError } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { ModelType } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { type HttpExchange, type StreamedResponse, SseWriter } from '#platform/http';
import type { ReplyEvent } from '#queue';
import { OpenRequests, RateLimiter } from '#rate-limit';
import type { AdmittedUse, ModelDemand } from '../limits/model-limit.js';
import { applyModelLimit } from '../limits/rate-limits.js';
import type { CheckModel } from './policy/classifiers.js';
import { ContentPolicy } from './policy/content-policy.js';
import { JobRunner, type StartedJob } from './job-runner.js';
import { ModelRequest, type RequestSteps } from './model-request.js';
import { ModelResolver } from './model-resolver.js';
import { ExpectedModels } from './expected-models.js';
import { modelHeaders } from '../request/request-headers.js';
import { StoreBudgets } from '../request/store-budgets.js';
import { type EventPresenter, EventStream } from './stream-events.js';

/** Trait of the default model. */
const defaultTrait = 'default';

/** How a request names its model. */
export interface ModelName {
  /** Absent: the default model of the type. */
  name: string | null | undefined;
  /** The first of several types that has the name is used. */
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
  /** Number of jobs that checked inputs of a request so far. */
  private readonly checks = new WeakMap<HttpExchange, number>();

  constructor(
    private readonly models: ModelResolver,
    private readonly limiter: RateLimiter,
    private readonly prices: PriceList,
    private readonly runner: JobRunner,
    private readonly budgets: StoreBudgets,
    private readonly config: ApiConfig,
    private readonly openRequests: OpenRequests,
    private readonly policy: ContentPolicy,
    private readonly expected: ExpectedModels,
  ) {}

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
    const { accessRecord } = http.request;
    if (accessRecord) accessRecord.modelId = resolved.manifest.id;
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
    const id = inputJobId(http.request.id, `check${this.nextCheck(http)}`);
    return new ModelRequest(steps, http, resolved, { id, param });
  }

  /** Applies the limits of a model to a request. Rejects as `applyModelLimit` does. */
  limit(http: Pick<HttpExchange, 'request' | 'reply'>, demand: ModelDemand): Promise<AdmittedUse> {
    const { limiter, budgets, openRequests: open } = this;
    return applyModelLimit({ limiter, budgets, open }, http, demand);
  }

  /** Returns a job as server-sent events. */
  stream<Event extends ReplyEvent>(job: StartedJob<Event>, presenter: EventPresenter<Event>): StreamedResponse {
    const { keepAliveMs, stalledMs } = this.config;
    return new EventStream(job, presenter, { keepAliveMs, stalledMs });
  }

  /** Keeps the connection of a client that streams open while nothing else can be sent. */
  private async keepAlive<Result>(http: HttpExchange, work: () => Promise<Result>): Promise<Result> {
    const { keepAliveMs, stalledMs } = this.config;
    const writer = new SseWriter(http.reply, { keepAliveMs, stalledMs, keepAlive: http.format.keepAlive });
    http.preparing = writer;
    writer.startKeepAlive();
    try {
      return await work();
    } finally {
      writer.stopKeepAlive();
    }
  }

  /** Position of the next job that checks an input of this request, from 1. */
  private nextCheck(http: HttpExchange): number {
    const position = (this.checks.get(http) ?? 0) + 1;
    this.checks.set(http, position);
    return position;
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

/** A failed check refuses the request, because no text is answered unchecked; a retry finds the same. */
function notChecked(id: string, param: string | null): PlatformError {
  const message = `The model ${id}, which checks this input, is not available.`;
  return new PlatformError('MODEL_OFFLINE', message, param, { retry: 'never' });
}
