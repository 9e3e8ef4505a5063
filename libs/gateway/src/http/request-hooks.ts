import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { AccountsService, ConsoleSessionsService } from '#accounts';
import { LedgerService, RecentBalances } from '#billing';
import { ApiConfig } from '#platform/config';
import { Metrics } from '#platform/metrics';
import { Tracing } from '#platform/tracing';
import { RateLimiter } from '#rate-limit';
import { addAuthentication } from '../access/authentication.js';
import { callerAddress } from '../request/caller-address.js';
import { RouteTable } from '../errors/route-table.js';
import { addResponseRecording } from '../idempotency/idempotency.interceptor.js';
import { addRateLimits, refuseUnauthenticated } from '../limits/rate-limits.js';
import { Drain } from '../pipeline/drain.js';
import { StoreBudgets } from '../request/store-budgets.js';
import { addResponseSharing, addSharedSending } from '../sharing/response-sharing.js';
import { addMinimumBalance } from '../wallets/minimum-balance.js';
import { WalletSignIns } from '../wallets/wallet-sign-ins.js';
import type { AccessLog } from '../access-log/access-log.js';
import { addExchangeSigning } from '../tee/exchange-signing.js';
import { addHeaderAliases } from '../tee/header-aliases.js';
import { TeeHosts } from '../tee/tee-hosts.js';
import { ExchangeSigner } from '../tee/exchange-signer.js';
import { addBodyLimits } from '../request/body-limits.js';
import { addRequestTracking } from './request-tracking.js';
import { addResponseHeaders } from './response-headers.js';

/**
 * What is a Fastify hook and no guard, interceptor or pipe: everything that happens before the body is read, and what also
 * holds for responses that Nest does not make (unknown routes, bodies that cannot be parsed).
 */
@Injectable()
export class RequestHooks {
  constructor(
    private readonly routes: RouteTable,
    private readonly drain: Drain,
    private readonly budgets: StoreBudgets,
    private readonly accounts: AccountsService,
    private readonly sessions: ConsoleSessionsService,
    private readonly limiter: RateLimiter,
    private readonly balances: RecentBalances,
    private readonly ledger: LedgerService,
    private readonly signIns: WalletSignIns,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
    private readonly teeHosts: TeeHosts,
    private readonly signer: ExchangeSigner,
    private readonly config: ApiConfig,
  ) {}

  /** The outermost hooks, which apply to every request. */
  addTracking(server: FastifyInstance, version: string, accessLog: AccessLog): void {
    const { drain, budgets, metrics, tracing } = this;
    this.routes.attach(server);
    addBodyLimits(server);
    addResponseHeaders(server, version);
    addRequestTracking(server, { drain, budgets, metrics, tracing, accessLog });
    addHeaderAliases(server, this.config.teeHeaderPrefix);
  }

  /** Returns the address by which limits count a client. */
  readonly addressOf = callerAddress;

  /** Who calls, whether the limits let the request pass, and whether its response is recorded. */
  addAdmission(server: FastifyInstance): void {
    const { accounts, sessions, signIns, limiter, balances, ledger, budgets } = this;
    const { abuseCount } = this.config;
    addAuthentication(server, { accounts, sessions, signIns, budgets }, refuseUnauthenticated(limiter));
    addResponseSharing(server);
    addRateLimits(server, { limiter, balances, budgets, abuseCount });
    addSharedSending(server);
    addMinimumBalance(server, { ledger, budgets });
    addResponseRecording(server);
    addExchangeSigning(server, { hosts: this.teeHosts, signer: this.signer });
  }
}
