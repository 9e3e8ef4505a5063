import { encodeBase58 } from '#accounts';
import { ChainError } from '../chain-error.js';
import type { OnChain, PaymentChain, SignedPayment } from '../facilitator.js';
import { isRefusal } from '../refusal.js';
import { checkPaymentLayout } from './payment-layout.js';
import type { SolanaKey } from './solana-key.js';
import type { SolanaNode } from './solana-node.js';
import { decodeSolanaTransaction, type SolanaTransaction } from './solana-transaction.js';
import { associatedTokenAccount } from './token-account.js';

/** Transactions of the payer that are looked through where the operator does not have the fee payer's key. */
const maxSearched = 200;

/** Looks payments up by the signature of their transaction, which is known before it is sent. */
export class SolanaChain implements PaymentChain {
  constructor(
    private readonly node: SolanaNode,
    /** Null: a facilitator by URL signs, so that the signature is not known. */
    private readonly feePayer: SolanaKey | null,
  ) {}

  async lookUp(payment: SignedPayment, signal: AbortSignal): Promise<OnChain> {
    const transaction = decodeSolanaTransaction(payment.payload.transaction);
    if (typeof transaction === 'string') return { state: 'void', message: `payload.transaction ${transaction}` };
    const transfer = checkPaymentLayout(transaction, expectedOf(payment));
    if (isRefusal(transfer)) return { state: 'void', message: transfer.message };
    // Asked first: a transaction that is not there after the end of its block hash never will be.
    const isOver = !(await this.node.isBlockhashValid(transaction.blockhash, signal));
    const chainTimeMs = await this.node.chainTimeMs(signal);
    const signature = this.feePayer
      ? encodeBase58(this.feePayer.sign(transaction.message))
      : await this.search(transaction, transfer.source, signal);
    const status = signature === null ? null : await this.node.status(signature, signal);
    // While it can still come, no time is late enough to call it unused.
    if (status === null || signature === null) return { state: 'unused', chainTimeMs: isOver ? chainTimeMs : 0 };
    if (!this.node.hasReached(status)) return { state: 'unused', chainTimeMs: 0 };
    if (status.failure === null) return { state: 'settled', transaction: signature };
    return { state: 'void', message: `The transaction failed on the chain: ${status.failure}.` };
  }

  /** Finds the transaction among those of the payer's token account: the same message, signed by the fee payer. */
  private async search({ message }: SolanaTransaction, source: string, signal: AbortSignal): Promise<string | null> {
    for (const signature of await this.node.signaturesOf(source, maxSearched, signal)) {
      const found = decodeSolanaTransaction(await this.node.transaction(signature, signal));
      if (typeof found !== 'string' && found.message.equals(message)) return signature;
    }
    return null;
  }
}

/** What the terms ask of a transaction. Throws `ChainError` if they name no fee payer. */
export function expectedOf({ terms, amount }: SignedPayment) {
  const { feePayer } = terms.extra;
  if (!feePayer) throw new ChainError('unusable', 'the terms name no fee payer');
  const destination = associatedTokenAccount({ owner: terms.payTo, mint: terms.asset });
  return { mint: terms.asset, payTo: terms.payTo, destination, amount, feePayer };
}
