import { setTimeout as sleep } from 'node:timers/promises';
import { encodeBase58 } from '#accounts';
import { ChainError } from '../chain-error.js';
import type { Facilitator, Settlement, SignedPayment, Verification } from '../facilitator.js';
import { invalid, isRefusal, type Refusal, refuse } from '../refusal.js';
import { checkPaymentLayout, type PaymentTransfer } from './payment-layout.js';
import { expectedOf, type SolanaChain } from './solana-chain.js';
import type { SolanaKey } from './solana-key.js';
import type { SolanaNode } from './solana-node.js';
import { decodeSolanaTransaction, type SolanaTransaction, withFeePayerSignature } from './solana-transaction.js';

/** Time of `settle`, in ms: it answers within 20 s, and the chain goes on. */
const defaultSettleMs = 18_000;
const defaultPollMs = 500;
/** Sent again once in so many polls: the network drops transactions when it is busy. */
const pollsPerSend = 4;

const tooOld = refuse(
  'invalid_exact_svm_transaction_simulation_failed',
  'The block hash of the transaction is too old; sign a new one.',
);
const alreadySent = refuse('duplicate_settlement', 'The transaction was already sent.');

export interface SolanaFacilitatorDependencies {
  readonly node: SolanaNode;
  readonly chain: SolanaChain;
  readonly feePayer: SolanaKey;
  readonly logger: { warn(fields: object, message: string): void };
  readonly settleMs?: number;
  readonly pollMs?: number;
}

/** Verifies transactions that payers have signed, adds the signature of the operator's fee payer, and sends them. */
export class SolanaFacilitator implements Facilitator {
  constructor(private readonly dependencies: SolanaFacilitatorDependencies) {}

  async verify(payment: SignedPayment, signal: AbortSignal): Promise<Verification> {
    const read = this.read(payment);
    if (isRefusal(read)) return invalid(read);
    const { node, feePayer } = this.dependencies;
    const signature = encodeBase58(feePayer.sign(read.transaction.message));
    if ((await node.status(signature, signal)) !== null) return invalid(alreadySent);
    const refusal = await this.simulate(payment, read.expected.destination, signal);
    return refusal ? invalid(refusal) : { valid: true, payer: read.transfer.payer };
  }

  /** May be repeated: the signature is the same each time, so that the network runs the transaction once. */
  async settle(payment: SignedPayment, signal: AbortSignal): Promise<Settlement> {
    const read = this.read(payment);
    if (isRefusal(read)) return { outcome: 'failed', ...read };
    const deadline = AbortSignal.timeout(this.dependencies.settleMs ?? defaultSettleMs);
    const progress = { isSent: false };
    const signature = this.dependencies.feePayer.sign(read.transaction.message);
    const name = encodeBase58(signature);
    try {
      const sent = {
        bytes: withFeePayerSignature(read.transaction, signature),
        destination: read.expected.destination,
      };
      return await this.settleWithin(payment, { ...sent, name, progress }, AbortSignal.any([signal, deadline]));
    } catch (error) {
      // Once it is sent, no fault of a node tells what became of it.
      if (!deadline.aborted && (!progress.isSent || signal.aborted)) throw error;
      return { outcome: 'pending', transaction: progress.isSent ? name : null };
    }
  }

  private async settleWithin(
    payment: SignedPayment,
    sent: { bytes: Buffer; name: string; destination: string; progress: { isSent: boolean } },
    signal: AbortSignal,
  ): Promise<Settlement> {
    const { node, pollMs = defaultPollMs } = this.dependencies;
    const { name, progress } = sent;
    for (let polls = 0; ; polls += 1) {
      const status = await node.status(name, signal);
      progress.isSent ||= status !== null;
      if (status && node.hasReached(status)) {
        if (status.failure === null) return { outcome: 'settled', transaction: name };
        const message = `The transaction failed on the chain: ${status.failure}.`;
        return { outcome: 'failed', reason: 'invalid_exact_svm_transaction_failed', message };
      }
      if (polls === 0 && !status) {
        const refusal = await this.simulate(payment, sent.destination, signal);
        if (refusal) return this.afterRefusal(refusal, payment, { name, signal });
      }
      if (!status && polls % pollsPerSend === 0) await this.send(sent, signal);
      await sleep(pollMs, undefined, { signal });
    }
  }

  /** An old block hash or a repeated transaction may be one that was sent before and that this node has not seen. */
  private async afterRefusal(
    refusal: Refusal,
    payment: SignedPayment,
    { name, signal }: { name: string; signal: AbortSignal },
  ): Promise<Settlement> {
    if (refusal !== tooOld && refusal !== alreadySent) return { outcome: 'failed', ...refusal };
    const onChain = await this.dependencies.chain.lookUp(payment, signal);
    if (onChain.state === 'settled') return { outcome: 'settled', transaction: onChain.transaction };
    if (onChain.state === 'unused') return { outcome: 'pending', transaction: name };
    return { outcome: 'failed', reason: 'invalid_exact_svm_transaction_failed', message: onChain.message };
  }

  private async send(
    { bytes, name, progress }: { bytes: Buffer; name: string; progress: { isSent: boolean } },
    signal: AbortSignal,
  ): Promise<void> {
    const { node, logger } = this.dependencies;
    progress.isSent = true;
    try {
      await node.send(bytes.toString('base64'), signal);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      logger.warn({ transaction: name }, `A payment is not sent yet: ${error.message}`);
    }
  }

  /** Everything that the bytes say. */
  private read(
    payment: SignedPayment,
  ): { transaction: SolanaTransaction; transfer: PaymentTransfer; expected: ReturnType<typeof expectedOf> } | Refusal {
    const { feePayer } = this.dependencies;
    const transaction = decodeSolanaTransaction(payment.payload.transaction);
    if (typeof transaction === 'string')
      return refuse('invalid_exact_svm_payload_transaction_could_not_be_decoded', `payload.transaction ${transaction}`);
    const expected = expectedOf(payment);
    if (expected.feePayer !== feePayer.address)
      throw new ChainError(
        'unusable',
        `the terms name the fee payer ${expected.feePayer}, the key is ${feePayer.address}`,
      );
    const transfer = checkPaymentLayout(transaction, expected);
    return isRefusal(transfer) ? transfer : { transaction, transfer, expected };
  }

  /** What only the chain knows. Throws `ChainError` where the operator is at fault. */
  private async simulate(
    { payload, terms }: SignedPayment,
    destination: string,
    signal: AbortSignal,
  ): Promise<Refusal | null> {
    const { node, feePayer } = this.dependencies;
    if ((await node.account(destination, signal)) === null)
      return refuse(
        'invalid_exact_svm_payload_recipient_mismatch',
        `${terms.payTo} has no token account for ${terms.asset} yet; the operator must create ${destination}.`,
      );
    const failure = await node.simulate(String(payload.transaction), signal);
    if (failure === null) return null;
    if (/InsufficientFundsForFee|"AccountNotFound"/.test(failure))
      throw new ChainError('unusable', `the fee payer ${feePayer.address} has no funds for the fee`);
    if (failure.includes('BlockhashNotFound')) return tooOld;
    if (failure.includes('AlreadyProcessed')) return alreadySent;
    const isPoor = /"Custom":1\b/.test(failure);
    return refuse(
      'invalid_exact_svm_transaction_simulation_failed',
      isPoor ? 'The payer does not have enough of the token.' : `The transaction would fail: ${failure}.`,
    );
  }
}
