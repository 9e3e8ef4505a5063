import type { OnChain, PaymentChain, SignedPayment } from '../facilitator.js';
import { isRefusal } from '../refusal.js';
import { parseAuthorization, paymentKeyOf } from './authorization.js';
import type { FeePayer } from './fee-payer.js';

/** Least time between two attempts, in ms: payments are looked up every few seconds, many at once. */
const pauseMs = 5_000;

/**
 * Looks payments up, and sends those again that were sent and that the chain does not show: a node may have lost them, a
 * reorganization undone them, or a risen base fee left them behind.
 */
export class ResendingChain implements PaymentChain {
  private nextMs = 0;

  constructor(
    private readonly chain: PaymentChain,
    private readonly feePayer: Pick<FeePayer, 'find' | 'broadcast'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  async lookUp(payment: SignedPayment, signal: AbortSignal): Promise<OnChain> {
    const found = await this.chain.lookUp(payment, signal);
    if (found.state !== 'unused' || this.nowMs() < this.nextMs) return found;
    const parsed = parseAuthorization(payment.payload);
    if (isRefusal(parsed)) return found;
    const sent = await this.feePayer.find(paymentKeyOf(parsed.authorization, payment.terms.asset));
    if (!sent) return found;
    this.nextMs = this.nowMs() + pauseMs;
    await this.feePayer.broadcast(signal);
    return found;
  }
}
