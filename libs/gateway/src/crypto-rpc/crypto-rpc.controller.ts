import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Controller, Get, Inject, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import {
  maxCreditsOf,
  readCalls,
  type RpcNetwork,
  rpcNetworks,
  RpcProxy,
  type RpcRequest,
  type RpcResult,
} from '#chains';
import { formatNanos, nanosOf, noTokens, PlatformError } from '#common';
import { directJob } from '#jobs';
import { ApiConfig } from '#platform/config';
import { Access, ApiRoute, Billed, callerOf, LimitedByModel, RawJson, RawJsonBody } from '#platform/http';
import { Wallets } from '#platform/wallets';
import { directModality } from '#queue';
import { advanceMs, type LimitDecision } from '#rate-limit';
import { DirectRequests } from '../pipeline/direct-requests.js';
import type { HttpExchange } from '../pipeline/http-exchange.js';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';
import { balanceHeaders } from '../request/request-headers.js';
import { RequestPipeline } from '../pipeline/request-pipeline.js';
import { StoreBudgets } from '../request/store-budgets.js';
import type { BlockTicket } from './credit-block.js';
import { type BlockDemand, BlockRefused, CreditBlocks, serviceOf } from './credit-blocks.js';
import { callsDocument, NetworkParameter, networksDocument, RpcBody } from './crypto-rpc.document.js';
import type { CryptoRpcNetworksResponse } from './crypto-rpc.response.js';
import { LimitRefusal, RpcLimits } from './rpc-limits.js';
import { withinDeadline } from './within-deadline.js';

/** Longest body of a request, in bytes. */
const maxBytes = 1024 * 1024;

/** Calls of blockchain nodes of the operator. No model runs. */
@Controller('crypto/rpc')
export class CryptoRpcController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: Pick<RequestPipeline, 'handle'>,
    @Inject(DirectRequests) private readonly requests: DirectRequests,
    @Inject(RpcProxy) private readonly proxy: Pick<RpcProxy, 'resolve' | 'requireUpstream' | 'call'>,
    @Inject(RpcLimits) private readonly limits: Pick<RpcLimits, 'turn' | 'take'>,
    @Inject(CreditBlocks) private readonly blocks: Pick<CreditBlocks, 'take' | 'takeNow'>,
    @Inject(StoreBudgets) private readonly budgets: StoreBudgets,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'rpcCreditPriceUsd'>,
  ) {}

  @Get('networks')
  @Access('public')
  @ApiRoute(networksDocument)
  list(): CryptoRpcNetworksResponse {
    return { networks: rpcNetworks.map(({ name }) => name) };
  }

  @Post(':network')
  @Billed()
  @Wallets()
  @LimitedByModel()
  @RawJson({ maxBytes })
  @NetworkParameter()
  @RpcBody()
  @ApiRoute(callsDocument)
  async call(@Param('network') name: string, @RawJsonBody() body: Buffer, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const network = this.proxy.resolve(name);
      const request = readCalls(body, network);
      this.proxy.requireUpstream(network);
      const result = await this.run(http, network, request);
      if (result.rest !== null) return undefined;
      this.describe(http, result);
      return result.bytes;
    });
  }

  /** Limits, reserves, asks and charges. */
  private async run(http: HttpExchange, network: RpcNetwork, request: RpcRequest): Promise<RpcResult> {
    try {
      const leave = await this.limits.turn(http);
      http.onEnd(() => Promise.resolve(leave()));
      const isKeyed = http.request.headers['idempotency-key'] !== undefined;
      return isKeyed ? await this.runAlone(http, network, request) : await this.runInBlock(http, network, request);
    } catch (error) {
      if (http.disconnected.aborted) throw new ClientDisconnectedError('the client disconnected');
      throw refusalOf(http, error);
    }
  }

  /** What a key repeats has a row and a charge of its own, which say after a crash what became of it. */
  private async runAlone(http: HttpExchange, network: RpcNetwork, request: RpcRequest): Promise<RpcResult> {
    const maxUnits = maxCreditsOf(network, request);
    const taken = await this.limits.take(callerOf(http.request), { requests: 1, credits: maxUnits, isTrial: false });
    let used = 0;
    http.onEnd(() => taken.settle({ requests: 1, credits: used }));
    tell(http, taken.decision(0));
    const prices = { credit: Number(this.config.rpcCreditPriceUsd) };
    const service = { id: serviceOf(network), prices, maxUnits };
    return await this.requests.run(http, service, async (signal) => {
      const result = await this.proxy.call(network, request, { signal });
      used = result.credits;
      return { result, answeredBy: 'credit', units: result.credits };
    });
  }

  private async runInBlock(http: HttpExchange, network: RpcNetwork, request: RpcRequest): Promise<RpcResult> {
    const { request: incoming, disconnected, record } = http;
    const credits = maxCreditsOf(network, request);
    const demand = { requestId: incoming.id, caller: callerOf(incoming), network, credits };
    const ticket = this.blocks.takeNow(demand) ?? (await this.takeTicket(demand));
    const { price } = ticket.quote;
    tell(http, ticket.decision);
    void http.reply.headers(balanceHeaders(ticket.quote, incoming.caller));
    if (record) record.reservedNano = nanosOf(Number(this.config.rpcCreditPriceUsd)) * BigInt(credits);
    try {
      const result = await withinDeadline(disconnected, maxCallMs, async (signal) => {
        const called = await this.proxy.call(network, request, { signal, streams: true });
        if (called.rest !== null) await this.stream(http, called, called.rest);
        return called;
      });
      disconnected.throwIfAborted();
      ticket.settle(result.credits);
      const usage = { ...noTokens, units: { credit: result.credits } };
      if (record) {
        record.finishedJob = { modality: directModality, modelId: price.modelId, usage, pricing: price.pricing };
      }
      return result;
    } catch (error) {
      ticket.settle(0, disconnected.aborted ? 'JOB_CANCELLED' : PlatformError.from(error).code);
      throw error;
    }
  }

  private async takeTicket(demand: BlockDemand): Promise<BlockTicket> {
    // A ticket that comes too late for its request costs nothing.
    return await this.budgets.of(demand.requestId).within(this.blocks.take(demand), (late) => late.settle(0));
  }

  /** Sends a long answer while it arrives. Rejects if it does not arrive whole: its status line is gone by then. */
  private async stream(http: HttpExchange, result: RpcResult, rest: NonNullable<RpcResult['rest']>): Promise<void> {
    const { request, reply } = http;
    this.describe(http, result);
    // A compressor would hold back what is here.
    request.headers['x-no-compression'] = 'true';
    try {
      void reply.send(Readable.from(rest.parts, { objectMode: false }));
      await finished(reply.raw);
    } finally {
      rest.cancel();
    }
  }

  private describe({ reply }: HttpExchange, { credits }: RpcResult): void {
    void reply.type('application/json; charset=utf-8').headers(this.costHeaders(credits));
  }

  private costHeaders(credits: number): Record<string, string> {
    const nano = BigInt(credits) * nanosOf(Number(this.config.rpcCreditPriceUsd));
    return { 'x-service-rpc-credits': String(credits), 'x-service-rpc-cost-usd': formatNanos(nano, 8) };
  }
}

/** Longest time of a call, in ms: a block is charged before its row expires, which direct jobs do. */
const maxCallMs = directJob.policy.deadlineMs - 5 * advanceMs;

function tell({ request, reply }: HttpExchange, decision: LimitDecision): void {
  request.limitDecision = decision;
  void reply.headers(decision.headers);
}

/** Sets the headers of a refusal, and returns the error to respond with. */
function refusalOf(http: HttpExchange, error: unknown): unknown {
  if (error instanceof BlockRefused) {
    void http.reply.headers(balanceHeaders(error.quote, http.request.caller));
    return error.error;
  }
  if (!(error instanceof LimitRefusal)) return error;
  if (error.decision !== null) tell(http, error.decision);
  void http.reply.headers(error.headers);
  return error.error;
}
