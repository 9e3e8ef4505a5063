import { Controller, Get, Param, Post } from '@nestjs/common';
import {
  maxCreditsOf,
  readCalls,
  type RpcNetwork,
  rpcNetworks,
  RpcProxy,
  type RpcRequest,
  type RpcResult,
} from '#chains';
import { formatNanos, nanosOf } from '#common';
import { ApiConfig } from '#platform/config';
import {
  Access,
  ApiRoute,
  Billed,
  Exchange,
  type HttpExchange,
  LimitedByModel,
  RawJson,
  RawJsonBody,
  type StreamedResponse,
} from '#platform/http';
import { Wallets } from '#platform/wallets';
import type { LimitDecision } from '#rate-limit';
import { DirectRequests } from '../pipeline/direct-requests.js';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';
import { balanceHeaders } from '../request/request-headers.js';
import { StoreBudgets } from '../request/store-budgets.js';
import { BlockCall, LongAnswer } from './block-call.js';
import type { BlockTicket } from './credit-block.js';
import { type BlockDemand, BlockRefused, CreditBlocks, serviceOf } from './credit-blocks.js';
import { callsDocument, NetworkParameter, networksDocument, RpcBody } from './crypto-rpc.document.js';
import type { CryptoRpcNetworksResponse } from './crypto-rpc.response.js';
import { LimitRefusal, RpcLimits } from './rpc-limits.js';

/** Longest body of a request, in bytes. */
const maxBytes = 1024 * 1024;

/** Calls of blockchain nodes of the operator. No model runs. */
@Controller('crypto/rpc')
export class CryptoRpcController {
  constructor(
    private readonly requests: DirectRequests,
    private readonly proxy: RpcProxy,
    private readonly limits: RpcLimits,
    private readonly blocks: CreditBlocks,
    private readonly budgets: StoreBudgets,
    private readonly config: ApiConfig,
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
  async call(
    @Param('network') name: string,
    @RawJsonBody() body: Buffer,
    @Exchange() http: HttpExchange,
  ): Promise<Buffer | StreamedResponse> {
    const network = this.proxy.resolve(name);
    const request = readCalls(body, network);
    this.proxy.requireUpstream(network);
    return await this.run(http, network, request);
  }

  /** Limits, reserves, asks and charges. */
  private async run(http: HttpExchange, network: RpcNetwork, request: RpcRequest): Promise<Buffer | StreamedResponse> {
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
  private async runAlone(http: HttpExchange, network: RpcNetwork, request: RpcRequest): Promise<Buffer> {
    const maxUnits = maxCreditsOf(network, request);
    const taken = await this.limits.take(http.caller, { requests: 1, credits: maxUnits, isTrial: false });
    let used = 0;
    http.onEnd(() => taken.settle({ requests: 1, credits: used }));
    tell(http, taken.decision(0));
    const prices = { credit: Number(this.config.rpcCreditPriceUsd) };
    const service = { id: serviceOf(network), prices, maxUnits };
    const result = await this.requests.run(http, service, async (signal) => {
      const answer = await this.proxy.call(network, request, { signal });
      used = answer.credits;
      return { result: answer, answeredBy: 'credit', units: answer.credits };
    });
    return this.describe(http, result);
  }

  private async runInBlock(
    http: HttpExchange,
    network: RpcNetwork,
    request: RpcRequest,
  ): Promise<Buffer | StreamedResponse> {
    const { request: incoming, caller } = http;
    const credits = maxCreditsOf(network, request);
    const demand = { requestId: incoming.id, caller, network, credits };
    const ticket = this.blocks.takeNow(demand) ?? (await this.takeTicket(demand));
    tell(http, ticket.decision);
    http.setHeaders(balanceHeaders(ticket.quote, caller));
    const { accessRecord: record } = incoming;
    if (record) record.reservedNano = nanosOf(Number(this.config.rpcCreditPriceUsd)) * BigInt(credits);
    const call = new BlockCall(http, ticket);
    const result = await call.run((signal) => this.proxy.call(network, request, { signal, streams: true }));
    const bytes = this.describe(http, result);
    if (result.rest !== null) return new LongAnswer(call, result.credits, result.rest);
    call.charge(result.credits);
    return bytes;
  }

  private async takeTicket(demand: BlockDemand): Promise<BlockTicket> {
    // A ticket that comes too late for its request costs nothing.
    return await this.budgets.of(demand.requestId).within(this.blocks.take(demand), (late) => late.settle(0));
  }

  /** Sets the headers of a result. Returns its bytes, of a long one those that have arrived. */
  private describe({ reply }: HttpExchange, { bytes, credits }: RpcResult): Buffer {
    void reply.type('application/json; charset=utf-8').headers(this.costHeaders(credits));
    return bytes;
  }

  private costHeaders(credits: number): Record<string, string> {
    const nano = BigInt(credits) * nanosOf(Number(this.config.rpcCreditPriceUsd));
    return { 'x-service-rpc-credits': String(credits), 'x-service-rpc-cost-usd': formatNanos(nano, 8) };
  }
}

function tell(http: HttpExchange, decision: LimitDecision): void {
  http.request.limitDecision = decision;
  http.setHeaders(decision.headers);
}

/** Sets the headers of a refusal, and returns the error to respond with. */
function refusalOf(http: HttpExchange, error: unknown): unknown {
  if (error instanceof BlockRefused) {
    http.setHeaders(balanceHeaders(error.quote, http.request.caller));
    return error.error;
  }
  if (!(error instanceof LimitRefusal)) return error;
  if (error.decision !== null) tell(http, error.decision);
  http.setHeaders(error.headers);
  return error.error;
}
