import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BalanceBefore, LedgerService } from '#billing';
import type { RouteSettings } from '#platform/http';
import type { StoreBudgets } from '../request/store-budgets.js';
import { balanceHeaders } from '../request/request-headers.js';
import { minimumBalanceNano, PoorWallet } from './payment-answers.js';

interface BalanceParts {
  ledger: Pick<LedgerService, 'balance'>;
  budgets: StoreBudgets;
}

/**
 * Refuses charged requests of wallets that have less than the minimum, before their body is read. Reads the balance each
 * time: a wallet that has just paid must not wait.
 */
export function addMinimumBalance(server: FastifyInstance, { ledger, budgets }: BalanceParts): void {
  server.addHook('onRequest', async (request, reply) => {
    const { caller } = request;
    const { wallets, billed } = request.routeOptions.config as RouteSettings;
    if (caller?.wallet === undefined || wallets !== true || billed !== true) return;
    // The reservation decides as well, and is impossible without the store.
    const reading = ledger.balance(caller.accountId).catch(() => null);
    const balance = await budgets.of(request.id).within(reading);
    if (balance !== null) requireMinimum(request, reply, balance);
  });
}

function requireMinimum(
  { caller }: FastifyRequest,
  reply: FastifyReply,
  { diemNano, bundledNano, usdNano }: { diemNano: bigint; bundledNano: bigint; usdNano: bigint },
): void {
  const balance: BalanceBefore = { diemNano, usdNano: bundledNano + usdNano };
  if (balance.diemNano + balance.usdNano >= minimumBalanceNano) return;
  void reply.headers(balanceHeaders({ balanceBefore: balance }, caller));
  throw new PoorWallet(balance);
}
