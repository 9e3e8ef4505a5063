import type { OperatorClient, OperatorResponse } from '#egress';
import type { OpsConfig } from '#platform/config';
import { requirementOf } from '../offers.js';
import type { Facilitator, PaymentTerms, Settlement, SignedPayment, Verification } from './facilitator.js';

export interface HttpFacilitatorOptions {
  settings: NonNullable<OpsConfig['paymentExecution']['facilitator']>;
  client: Pick<OperatorClient, 'post'>;
  /** Longest call, in ms. */
  timeoutMs?: number;
}

type Answer = Readonly<Record<string, unknown>>;

/** Longest response, in bytes. */
const maxBytes = 256 * 1024;

/** Reasons to refuse a payment that end it: nothing was sent. Any other may hide a transaction that was. */
const definiteReason = /^(invalid_|insufficient_|unsupported_)/;

/** A facilitator by URL did not answer as its protocol says. Says nothing about the payment. */
export class FacilitatorError extends Error {
  override readonly name = 'FacilitatorError';
}

/**
 * A facilitator of the protocol's second version, by URL: `POST /verify`, `POST /settle`, `GET /supported`. It belongs to
 * the operator or was chosen by them, so its address may be private; redirects are not followed. What it says is never
 * proof of a payment.
 */
export class HttpFacilitator implements Facilitator {
  private readonly timeoutMs: number;

  constructor(private readonly options: HttpFacilitatorOptions) {
    this.timeoutMs = options.timeoutMs ?? 25_000;
  }

  async verify(payment: SignedPayment, signal: AbortSignal): Promise<Verification> {
    const { status, answer } = await this.call('verify', payment, signal);
    if (typeof answer.isValid !== 'boolean') throw malformed('verify', status);
    if (!answer.isValid) return { valid: false, ...reasonOf(answer.invalidReason) };
    if (typeof answer.payer !== 'string' || answer.payer === '') throw malformed('verify', status);
    return { valid: true, payer: answer.payer };
  }

  async settle(payment: SignedPayment, signal: AbortSignal): Promise<Settlement> {
    const { status, answer } = await this.call('settle', payment, signal);
    const transaction = typeof answer.transaction === 'string' && answer.transaction !== '' ? answer.transaction : null;
    if (typeof answer.success !== 'boolean' || (answer.success && transaction === null))
      throw malformed('settle', status);
    if (answer.success) return { outcome: 'settled', transaction: transaction ?? '' };
    const { reason, message } = reasonOf(answer.errorReason);
    const isDefinite = definiteReason.test(reason) && transaction === null;
    return isDefinite ? { outcome: 'failed', reason, message } : { outcome: 'pending', transaction };
  }

  /** Says what is wrong if the facilitator does not list a network; null otherwise. Rejects if it does not answer. */
  async problemWith({ network }: PaymentTerms, signal: AbortSignal): Promise<string | null> {
    const { answer } = await this.send('supported', null, signal);
    if (!Array.isArray(answer.kinds)) throw malformed('supported', 200);
    const kinds = answer.kinds as { scheme?: unknown; network?: unknown; x402Version?: unknown }[];
    const isSupported = kinds.some(
      (kind) => kind?.scheme === 'exact' && kind.network === network && kind.x402Version === 2,
    );
    return isSupported ? null : `The facilitator does not support exact payments on ${network}.`;
  }

  private async call(path: 'verify' | 'settle', { terms, amount, payload }: SignedPayment, signal: AbortSignal) {
    const requirements = requirementOf(terms, amount);
    const paymentPayload = { x402Version: 2, accepted: requirements, payload };
    return this.send(path, { x402Version: 2, paymentPayload, paymentRequirements: requirements }, signal);
  }

  /** A refusal may come with any status, so its body decides; without an object there is no answer. */
  private async send(
    path: string,
    body: object | null,
    signal: AbortSignal,
  ): Promise<{ status: number; answer: Answer }> {
    const { settings, client } = this.options;
    const url = `${settings.url.replace(/\/$/, '')}/${path}`;
    const { status, bytes } = await client.post({
      ...{ url, maxBytes, signal, timeoutMs: this.timeoutMs, isFresh: path === 'settle' },
      isGet: body === null,
      body: Buffer.from(JSON.stringify(body)),
      ...(settings.token !== null && { authorization: `Bearer ${settings.token}` }),
    });
    return { status, answer: parse(path, { status, bytes }) };
  }
}

function parse(path: string, { status, bytes }: OperatorResponse): Answer {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Answer;
  } catch {
    // Reported below.
  }
  throw malformed(path, status);
}

function malformed(path: string, status: number): FacilitatorError {
  return new FacilitatorError(`The facilitator's response to ${path} (status ${status}) is not as its protocol says.`);
}

/** Only words of the protocol reach callers: sentences of a foreign server may name hosts and keys. */
function reasonOf(reason: unknown): { reason: string; message: string } {
  const word = typeof reason === 'string' && /^[a-z0-9_]{1,128}$/.test(reason) ? reason : 'unexpected_error';
  return { reason: word, message: `The payment was refused: ${word}.` };
}
