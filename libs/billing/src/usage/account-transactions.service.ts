import type { NanoUsd } from '#common';
import { Injectable } from '#platform/injection';
import { AccountTransactionsRepository, type TransactionType } from './account-transactions.repository.js';

/** One change of the USD of an account, bundled credits included; DIEM are not in the amounts. */
export interface AccountTransaction {
  id: string;
  type: TransactionType;
  /** Negative for a charge. */
  amountNano: NanoUsd;
  /** After this transaction. */
  balanceNano: NanoUsd;
  createdAt: Date;
  /** The id that the caller saw; null for credit. */
  requestId: string | null;
  modelId: string | null;
}

export interface TransactionPage {
  /** Before what running requests have reserved. */
  balanceNano: NanoUsd;
  transactions: AccountTransaction[];
  hasMore: boolean;
}

/**
 * Reads what changed the balance of an account, newest first. A request that failed is two transactions: what was
 * reserved for it, and its return. They are read from reservations, since the ledger has no entries for money that did
 * not move; the others are those of the ledger.
 */
@Injectable()
export class AccountTransactions {
  constructor(private readonly repository: AccountTransactionsRepository) {}

  /** The work grows with `offset`: each balance is counted back from the present one. */
  async page(accountId: string, { limit, offset }: { limit: number; offset: number }): Promise<TransactionPage> {
    const rows = await this.repository.newest(accountId, offset + limit + 1);
    let balanceNano = rows[0]?.totalNano ?? 0n;
    const transactions = rows.flatMap(({ totalNano: _total, id, ...row }): AccountTransaction[] => {
      if (id === null) return [];
      const transaction = { id, ...row, balanceNano };
      balanceNano -= row.amountNano;
      return [transaction];
    });
    return {
      balanceNano: rows[0]?.totalNano ?? 0n,
      transactions: transactions.slice(offset, offset + limit),
      hasMore: transactions.length > offset + limit,
    };
  }
}
