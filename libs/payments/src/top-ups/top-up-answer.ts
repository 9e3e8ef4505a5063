import { displayNanos, type ErrorCode, errorEntry, formatNanos } from '#common';
import { facilitatorUnavailable, type TopUp } from './top-up.js';

/** A response to a top-up. */
export interface TopUpAnswer {
  status: number;
  body: Buffer;
  /** `PAYMENT-RESPONSE`, not encoded; null where no payment was looked at. */
  receipt: PaymentReceipt | null;
}

/** What `PAYMENT-RESPONSE` says. */
export interface PaymentReceipt {
  success: boolean;
  network: string;
  payer: string;
  /** Empty where none is known. */
  transaction: string;
  errorReason?: string;
  errorMessage?: string;
}

export interface FailureBody {
  error: ErrorCode;
  message: string;
  details?: object;
}

/** Statuses of pending payments; no client takes 202 for an offer to pay. */
const pendingStatus = 202;
const pendingReason = 'settlement_pending';

export function failureAnswer(failure: FailureBody, receipt: PaymentReceipt | null = null): TopUpAnswer {
  return { status: errorEntry(failure.error).status ?? 500, body: jsonOf(failure), receipt };
}

/** The body of a settled top-up; the first one is stored, and repeats get its bytes. */
export function settledBody({ id, payer, amountNano, balanceNano }: TopUp): Buffer {
  return jsonOf({
    success: true,
    data: {
      walletAddress: payer ?? '',
      amountCredited: displayNanos(amountNano),
      newBalance: displayNanos(balanceNano ?? 0n),
      paymentId: id,
    },
  });
}

export function settledAnswer(topUp: TopUp, body: Buffer): TopUpAnswer {
  return { status: 200, body, receipt: receiptOf(topUp, { success: true }) };
}

/** A payment whose end is not known yet. The same request asks for it again. */
export function pendingAnswer(topUp: TopUp): TopUpAnswer {
  const amount = formatNanos(topUp.amountNano, 2);
  const message =
    `The payment of $${amount} is being settled and will be credited once. Do not sign another one: repeat this ` +
    'request with the same payment to see its state.';
  const data = { walletAddress: topUp.payer ?? '', amount: displayNanos(topUp.amountNano), paymentId: topUp.id };
  const body = jsonOf({ success: false, status: pendingReason, message, data });
  return { status: pendingStatus, body, receipt: receiptOf(topUp, { success: false, errorReason: pendingReason }) };
}

/** A payment that was not made. */
export function endedAnswer(topUp: TopUp): TopUpAnswer {
  const { state, reason, message } = topUp;
  const errorReason = state === 'expired' ? 'payment_expired' : (reason ?? 'payment_failed');
  const sentence =
    state === 'expired'
      ? 'The authorization ended before the payment was made, and can no longer be used. Nothing was paid.'
      : (message ?? 'The payment could not be made.');
  const receipt = receiptOf(topUp, { success: false, errorReason, errorMessage: sentence });
  return failureAnswer({ error: codeOf(topUp), message: sentence, details: { reason: errorReason } }, receipt);
}

function codeOf({ state, settles, reason }: TopUp): ErrorCode {
  if (reason === facilitatorUnavailable) return 'PAYMENT_FACILITATOR_FAILED';
  return state === 'failed' && settles === 0 ? 'PAYMENT_VERIFICATION_FAILED' : 'PAYMENT_SETTLEMENT_FAILED';
}

function receiptOf(
  { network, payer, transaction }: TopUp,
  result: Pick<PaymentReceipt, 'success' | 'errorReason' | 'errorMessage'>,
): PaymentReceipt {
  return { ...result, network, payer: payer ?? '', transaction: transaction ?? '' };
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
