import type { Facilitator, PaymentChain } from './facilitator.js';
import type { NodeClient } from './json-rpc.client.js';
import type { SentTransactionsRepository } from './sent-transactions.repository.js';

export interface PaymentNetworkDependencies {
  readonly nodeClient: NodeClient;
  readonly sentTransactions: SentTransactionsRepository;
  readonly logger: { warn(fields: object, message: string): void };
  /** How long `settle` may take, in ms; 18 s by default. */
  readonly settleMs?: number;
  /** Between two looks at the chain, in ms. */
  readonly pollMs?: number;
}

/** What ops needs of one network. */
export interface PaymentNetworkAccess {
  /** Null: the operator has set no key, so a facilitator by URL settles. */
  readonly facilitator: Facilitator | null;
  readonly chain: PaymentChain;
}
