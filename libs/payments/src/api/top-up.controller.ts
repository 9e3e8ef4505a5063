import { Controller, Post } from '@nestjs/common';
import { PlatformError } from '#common';
import { ApiConfig } from '#platform/config';
import { Access, Exchange, type HttpExchange } from '#platform/http';
import { Logger } from '#platform/logging';
import { PaymentOffers } from '../offers.js';
import { failureAnswer, type TopUpAnswer } from '../top-ups/top-up-answer.js';
import { TopUpService } from '../top-ups/top-up.service.js';
import { TopUpRoute } from './top-up.document.js';

/** The header of the protocol, then its two older names. */
const paymentHeaders = ['payment-signature', 'x-402-payment', 'x-payment'] as const;

/** Codes whose response has the form of the protocol. */
const ownCodes = new Set(['X402_INVALID_PAYMENT', 'PAYMENT_IDENTIFIER_IN_USE']);

/** Payments of wallets; the route needs no key. */
@Controller('x402/top-up')
export class TopUpController {
  private hasWarned = false;

  constructor(
    private readonly service: TopUpService,
    private readonly offers: PaymentOffers,
    private readonly config: ApiConfig,
    private readonly logger: Logger,
  ) {}

  @Post()
  @Access('anonymous')
  @TopUpRoute()
  async topUp(@Exchange() http: HttpExchange): Promise<object> {
    this.assertConfigured();
    const header = paymentHeaderOf(http);
    if (header === null) return this.requirePayment(http);
    const answer = await this.service.submit(header, http.disconnected).catch(answerOf);
    if (answer.receipt !== null) http.setHeaders({ 'PAYMENT-RESPONSE': base64Of(answer.receipt) });
    if (answer.status === 202) http.setHeaders({ 'retry-after': '5' });
    void http.reply.status(answer.status).type('application/json; charset=utf-8');
    return answer.body;
  }

  private assertConfigured(): void {
    if (this.offers.isConfigured) return;
    if (!this.hasWarned) {
      const hint = 'set SLUICE_PAYMENT_EVM_ADDRESS or SLUICE_PAYMENT_SOLANA_ADDRESS (docs/guides/wallets.md)';
      this.logger.warn({ hint }, 'a top-up was requested, but payments are not configured');
    }
    this.hasWarned = true;
    const message =
      'Payments are not configured here. The operator has to set SLUICE_PAYMENT_EVM_ADDRESS or ' +
      'SLUICE_PAYMENT_SOLANA_ADDRESS, and what docs/guides/wallets.md names with them.';
    throw new PlatformError('SERVICE_UNAVAILABLE', message, null, { retry: 'never' });
  }

  /** Sets status and headers of the response that asks for a payment. Returns its body. */
  private requirePayment(http: HttpExchange): object {
    const body = {
      x402Version: 2,
      error: 'A payment is required: send it in the header PAYMENT-SIGNATURE.',
      resource: {
        url: `${this.originOf(http)}/api/v1/x402/top-up`,
        description:
          `Top up the account of your wallet with ${this.offers.range} in USDC. Clients with a cap per payment must ` +
          'allow this amount (spendControls.maxAmountPerPayment).',
        mimeType: 'application/json',
      },
      accepts: this.offers.accepts,
    };
    void http.reply.status(402).header('PAYMENT-REQUIRED', base64Of(body));
    return body;
  }

  private originOf({ request }: HttpExchange): string {
    return this.config.publicUrl ?? `${request.protocol}://${request.host}`;
  }
}

/** Null without a payment. Several headers must say the same. */
function paymentHeaderOf({ request }: HttpExchange): string | null {
  const headers = paymentHeaders.flatMap((name) => request.headers[name] ?? []);
  const [first = null, ...others] = headers;
  if (others.some((other) => other !== first)) {
    throw new PlatformError('INVALID_REQUEST', 'Send one payment: the payment headers differ.', 'PAYMENT-SIGNATURE');
  }
  return first;
}

/** Errors of the payment itself have the form of the protocol; others are those of every route. */
function answerOf(error: unknown): TopUpAnswer {
  if (!(error instanceof PlatformError) || !ownCodes.has(error.code)) throw error;
  const details = error.param === null ? undefined : { field: error.param };
  return failureAnswer({ error: error.code, message: error.message, ...(details && { details }) });
}

function base64Of(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}
