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
import { formatNanos, nanosOf } from '#common';
import { ApiConfig } from '#platform/config';
import { Access, ApiRoute, Billed, LimitedByModel, RawJson, RawJsonBody } from '#platform/http';
import { Wallets } from '#platform/wallets';
import { DirectRequests } from '../pipeline/direct-requests.js';
import type { HttpExchange } from '../pipeline/http-exchange.js';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';
import { RequestPipeline } from '../pipeline/request-pipeline.js';
import { callsDocument, NetworkParameter, networksDocument, RpcBody } from './crypto-rpc.document.js';
import type { CryptoRpcNetworksResponse } from './crypto-rpc.response.js';
import { RpcLimits } from './rpc-limits.js';

/** Longest body of a request, in bytes. */
const maxBytes = 1024 * 1024;

/** Calls of blockchain nodes of the operator. No model runs. */
@Controller('crypto/rpc')
export class CryptoRpcController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: Pick<RequestPipeline, 'handle'>,
    @Inject(DirectRequests) private readonly requests: DirectRequests,
    @Inject(RpcProxy) private readonly proxy: Pick<RpcProxy, 'resolve' | 'requireUpstream' | 'call'>,
    @Inject(RpcLimits) private readonly limits: Pick<RpcLimits, 'admit'>,
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
      const { bytes, credits } = await this.run(http, network, request);
      void reply.type('application/json; charset=utf-8').headers(this.costHeaders(credits));
      return bytes;
    });
  }

  /** Limits, reserves, asks and charges. Daily credits and money are those that the calls have cost in the end. */
  private async run(http: HttpExchange, network: RpcNetwork, request: RpcRequest): Promise<RpcResult> {
    const maxUnits = maxCreditsOf(network, request);
    const admitted = await this.limits.admit(http, maxUnits).catch((error: unknown) => {
      throw http.disconnected.aborted ? new ClientDisconnectedError('the client disconnected') : error;
    });
    const prices = { credit: Number(this.config.rpcCreditPriceUsd) };
    const service = { id: `crypto-rpc-${network.name}`, prices, maxUnits };
    return await this.requests.run(http, service, async (signal) => {
      const result = await this.proxy.call(network, request, signal);
      admitted.used = result.credits;
      return { result, answeredBy: 'credit', units: result.credits };
    });
  }

  private costHeaders(credits: number): Record<string, string> {
    const nano = BigInt(credits) * nanosOf(Number(this.config.rpcCreditPriceUsd));
    return { 'x-service-rpc-credits': String(credits), 'x-service-rpc-cost-usd': formatNanos(nano, 8) };
  }
}
