import { randomBytes } from 'node:crypto';
import type { Facilitator, OnChain, PaymentChain, Settlement, SignedPayment, Verification } from '#payments';

/** How the facilitator behaves when it settles. */
export type SettleBehavior =
  | 'settles'
  /** Sends the transaction, which no block has yet, and says so. */
  | 'pending'
  /** Sends the transaction and answers nothing until the caller gives up. */
  | 'times-out'
  /** Sends the transaction and dies. */
  | 'dies'
  /** Dies before it sends anything. */
  | 'dies-first'
  /** Sends the transaction twice; the chain takes one. */
  | 'answers-twice'
  /** Says that it succeeded, and sends nothing. */
  | 'lies'
  | 'refuses';

interface Transfer {
  payment: SignedPayment;
  transaction: string;
  isMined: boolean;
}

interface EvmAuthorization {
  from: string;
  nonce: string;
  validBefore: string;
}

/** Builds an authorization that the doubles accept; `seed` makes payer and nonce. */
export function payloadOf(
  { payer, nonce, value, validBefore }: Record<'payer' | 'nonce' | 'value' | 'validBefore', string>,
  payTo: string,
) {
  return {
    signature: `0x${'ab'.repeat(64)}1b`,
    authorization: { from: payer, to: payTo, value, validAfter: '0', validBefore, nonce },
  };
}

export const randomHex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`;

/** A chain in memory: an authorization is used by the first transfer that a block has. */
export class ChainDouble implements PaymentChain {
  /** By payer and nonce. */
  private readonly transfers = new Map<string, Transfer>();
  private readonly cancelled = new Set<string>();
  /** Transactions that were sent, whether a block has them or not. */
  sent = 0;
  /** How far its clock is ahead, in ms. */
  aheadMs = 0;
  isReachable = true;

  /** Adds a transfer that a block has at once, or at the next `mine`. */
  send(payment: SignedPayment, { isMined = true } = {}): string {
    this.sent += 1;
    const key = keyOf(payment);
    const known = this.transfers.get(key);
    const transaction = known?.transaction ?? randomHex(32);
    this.transfers.set(key, { payment, transaction, isMined: isMined || known?.isMined === true });
    return transaction;
  }

  mine(): void {
    for (const transfer of this.transfers.values()) transfer.isMined = true;
  }

  /** Takes every transfer out of its block; `isLost`: no later block has it either. */
  reorganize({ isLost = false } = {}): void {
    if (isLost) return this.transfers.clear();
    for (const transfer of this.transfers.values()) transfer.isMined = false;
  }

  cancel(payment: SignedPayment): void {
    this.cancelled.add(keyOf(payment));
  }

  async lookUp(payment: SignedPayment): Promise<OnChain> {
    if (!this.isReachable) throw new Error('the node does not answer');
    const transfer = this.transfers.get(keyOf(payment));
    if (transfer?.isMined) return { state: 'settled', transaction: transfer.transaction };
    if (this.cancelled.has(keyOf(payment))) return { state: 'void', message: 'The authorization was cancelled.' };
    return { state: 'unused', chainTimeMs: Date.now() + this.aheadMs };
  }
}

export class FacilitatorDouble implements Facilitator {
  behavior: SettleBehavior = 'settles';
  verification: 'valid' | 'invalid' | 'nonsense' = 'valid';
  verified = 0;
  settled = 0;

  constructor(private readonly chain: ChainDouble) {}

  async verify({ payload }: SignedPayment): Promise<Verification> {
    this.verified += 1;
    if (this.verification === 'nonsense') throw new Error('not as its protocol says');
    if (this.verification === 'invalid') {
      return { valid: false, reason: 'invalid_exact_evm_payload_signature', message: 'The signature is wrong.' };
    }
    return { valid: true, payer: (payload.authorization as EvmAuthorization).from };
  }

  async settle(payment: SignedPayment, signal: AbortSignal): Promise<Settlement> {
    this.settled += 1;
    switch (this.behavior) {
      case 'settles':
        return { outcome: 'settled', transaction: this.chain.send(payment) };
      case 'pending':
        return { outcome: 'pending', transaction: this.chain.send(payment, { isMined: false }) };
      case 'times-out':
        this.chain.send(payment, { isMined: false });
        return aborted(signal);
      case 'dies':
        this.chain.send(payment);
        throw new Error('the connection ended');
      case 'dies-first':
        throw new Error('the connection ended');
      case 'answers-twice':
        this.chain.send(payment);
        return { outcome: 'settled', transaction: this.chain.send(payment) };
      case 'lies':
        return { outcome: 'settled', transaction: randomHex(32) };
      case 'refuses':
        return { outcome: 'failed', reason: 'insufficient_funds', message: 'The wallet has too little.' };
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

function keyOf({ payload }: SignedPayment): string {
  const { from, nonce } = payload.authorization as EvmAuthorization;
  return `${from.toLowerCase()} ${nonce}`;
}
