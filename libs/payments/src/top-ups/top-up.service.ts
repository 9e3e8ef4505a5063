import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, formatNanos, PlatformError, systemClock } from '#common';
import { Inject, Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import { nanosOfUnits, PaymentOffers } from '../offers.js';
import { assertPayable, parsePayment } from '../payload/parse-payment.js';
import { isSignedByPayer } from '../payload/payer-signature.js';
import { fingerprintOf, type ParsedPayment, payloadHashOf, paymentKeyOf, signedPaymentOf } from '../payload/payment.js';
import type { StoredTopUp } from './top-up.js';
import {
  endedAnswer,
  failureAnswer,
  pendingAnswer,
  settledAnswer,
  settledBody,
  type TopUpAnswer,
} from './top-up-answer.js';
import { type NewTopUp, TopUpsRepository } from './top-ups.repository.js';

/** The rows that the service reads and writes. */
export type TopUpRows = Pick<
  TopUpsRepository,
  'insert' | 'retry' | 'find' | 'findByKey' | 'findByIdentifier' | 'keepAnswer'
>;

export interface TopUpTiming {
  clock?: Pick<Clock, 'nowMs'>;
  /** How long a request waits for its payment, in ms. */
  maxWaitMs?: number;
}

const firstPauseMs = 100;
const longestPauseMs = 500;

/** Writes payments of wallets as rows, which ops executes, and tells their clients what became of them. */
@Injectable()
export class TopUpService {
  private readonly clock: Pick<Clock, 'nowMs'>;
  private readonly maxWaitMs: number;

  constructor(
    private readonly offers: PaymentOffers,
    @Inject(TopUpsRepository) private readonly topUps: TopUpRows,
    private readonly logger: Logger,
    @Optional() { clock = systemClock, maxWaitMs = 20_000 }: TopUpTiming = {},
  ) {
    this.clock = clock;
    this.maxWaitMs = maxWaitMs;
  }

  /**
   * Executes the payment of a header, or says what became of it. Waits up to 20 s or until `signal` aborts; the payment
   * goes on without its client. Rejects with `X402_INVALID_PAYMENT` for a payment that was not accepted.
   */
  async submit(header: string, signal: AbortSignal): Promise<TopUpAnswer> {
    const { offers } = this;
    const nowMs = this.clock.nowMs();
    const payment = parsePayment(header, offers, nowMs);
    const known = await this.findKnown(payment);
    if (known !== null) return this.repeat(payment, known, signal);
    assertPayable(payment, offers, nowMs);
    const written = await this.topUps.insert(newTopUpOf(payment));
    if (written !== null) return this.wait(written, signal);
    // Another request has written it in the meantime.
    const other = await this.findKnown(payment);
    if (other === null) throw new PlatformError('SERVICE_UNAVAILABLE', 'The payment could not be recorded. Repeat it.');
    return this.repeat(payment, other, signal);
  }

  private async findKnown(payment: ParsedPayment): Promise<StoredTopUp | null> {
    const { topUps } = this;
    const { identifier, authorization } = payment;
    const known = await topUps.findByKey(paymentKeyOf(payment));
    if (known !== null || identifier === null) return known;
    return topUps.findByIdentifier(authorization.payer, identifier);
  }

  /**
   * A payment that was seen before, or another one under the same identifier, which is not executed. Only its payer
   * learns what became of the first.
   */
  private async repeat(payment: ParsedPayment, known: StoredTopUp, signal: AbortSignal): Promise<TopUpAnswer> {
    if (!known.payloadHash.equals(payloadHashOf(payment))) {
      const retried = await this.retryUnsent(payment, known);
      if (retried !== null) return this.wait(retried, signal);
      if (!(await isSignedByPayer(payment))) {
        const message = 'The payment is not signed by its payer, or is known with another signature.';
        throw new PlatformError('X402_INVALID_PAYMENT', message, 'payload');
      }
    }
    if (!known.fingerprint.equals(fingerprintOf(payment))) {
      const message = 'The payment identifier or nonce stands for another payment of this wallet. Use a new one.';
      return failureAnswer({ error: 'PAYMENT_IDENTIFIER_IN_USE', message });
    }
    return this.wait(known, signal);
  }

  /** A payment that was refused before anything was sent may come again with another signature. */
  private async retryUnsent(payment: ParsedPayment, known: StoredTopUp): Promise<StoredTopUp | null> {
    if (known.state !== 'failed' || known.settles > 0) return null;
    const isSame = (await this.topUps.findByKey(paymentKeyOf(payment)))?.id === known.id;
    if (!isSame || !known.fingerprint.equals(fingerprintOf(payment))) return null;
    assertPayable(payment, this.offers, this.clock.nowMs());
    return this.topUps.retry(known.id, newTopUpOf(payment));
  }

  /** An outage of the database while waiting says nothing of the payment. */
  private async wait(written: StoredTopUp, signal: AbortSignal): Promise<TopUpAnswer> {
    const untilMs = performance.now() + this.maxWaitMs;
    let topUp = written;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
      if (topUp.state === 'settled') return this.settled(topUp);
      if (topUp.state === 'failed' || topUp.state === 'expired') return endedAnswer(topUp);
      if (signal.aborted || performance.now() >= untilMs) return pendingAnswer(topUp);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      topUp = (await this.read(topUp.id)) ?? topUp;
    }
  }

  private async read(id: string): Promise<StoredTopUp | null> {
    return this.topUps.find(id).catch((error: unknown) => {
      this.logger.warn({ error, topUp: id }, 'the state of a top-up could not be read');
      return null;
    });
  }

  private async settled(topUp: StoredTopUp): Promise<TopUpAnswer> {
    if (topUp.answer !== null) return settledAnswer(topUp, topUp.answer);
    if (topUp.balanceNano === null) {
      const amount = formatNanos(topUp.amountNano, 2);
      const at = topUp.endedAt?.toISOString() ?? 'earlier';
      const message = `This payment of $${amount} was credited (${at}). A payment is credited once.`;
      return failureAnswer({ error: 'X402_INVALID_PAYMENT', message, details: { reason: 'nonce_already_used' } });
    }
    const body = settledBody(topUp);
    const stored = await this.topUps.keepAnswer(topUp.id, body).catch((error: unknown) => {
      // The same row gives the same bytes.
      this.logger.warn({ error, topUp: topUp.id }, 'the response of a top-up could not be stored');
      return body;
    });
    return settledAnswer(topUp, Buffer.from(stored));
  }
}

function newTopUpOf(payment: ParsedPayment): NewTopUp {
  const { terms, authorization, identifier } = payment;
  return {
    network: terms.network,
    payer: authorization.payer,
    paymentKey: paymentKeyOf(payment),
    payloadHash: payloadHashOf(payment),
    identifier,
    fingerprint: fingerprintOf(payment),
    amountNano: nanosOfUnits(authorization.amount),
    payment: signedPaymentOf(payment),
    validUntilMs: authorization.validUntilMs,
  };
}
