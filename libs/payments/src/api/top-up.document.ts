import { applyDecorators } from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import { ApiRoute, type DocumentedRoute, jsonContent } from '#platform/http';
import { PaymentError, PaymentRequiredResponse, PendingTopUpResponse, TopUpResponse } from './top-up.response.js';

const base64Header = (description: string) => ({ description, schema: { type: 'string' } });
const receipt = { 'PAYMENT-RESPONSE': base64Header('Base64 of `{success, network, payer, transaction}`.') };
const failure = jsonContent(PaymentError);

const topUpDocument: DocumentedRoute = {
  tags: ['x402'],
  operationId: 'topUpX402Balance',
  summary: 'Top up the account of a wallet',
  description:
    'Without a payment, the response is 402 with what is accepted. With one, its amount is credited to the account of ' +
    'the wallet that signed it, once. Clients with a cap per payment must allow the amount (`spendControls`).',
  models: [PaymentError, PaymentRequiredResponse, PendingTopUpResponse],
  responses: {
    200: { description: 'The payment is credited.', json: TopUpResponse, headers: receipt },
    202: {
      description:
        'The payment may have been made, and is credited when the chain shows it. Repeat the request with the same payment.',
      json: PendingTopUpResponse,
      headers: receipt,
    },
    400: { description: 'The payment is invalid, or was not made.', headers: receipt, content: failure },
    402: {
      description: 'A payment is required.',
      headers: { 'PAYMENT-REQUIRED': base64Header('Base64 of the body.') },
      json: PaymentRequiredResponse,
    },
    409: { description: 'The payment identifier stands for another payment of the wallet.', content: failure },
    500: { description: 'The service failed; the payment is not lost.', content: failure },
    502: {
      description: 'The facilitator did not verify the payment. Nothing was paid.',
      headers: receipt,
      content: failure,
    },
  },
  errors: [413, 415, 429, 503],
  security: 'inherited',
};

const legacy = { required: false, deprecated: true, schema: { type: 'string' as const } };

/** What the OpenAPI document says of the route. */
export const TopUpRoute = (): MethodDecorator =>
  applyDecorators(
    ApiRoute(topUpDocument),
    ApiHeader({
      name: 'PAYMENT-SIGNATURE',
      required: false,
      description: 'Base64 of the payment payload (x402, version 1 or 2).',
      schema: { type: 'string' },
    }),
    ApiHeader({ name: 'X-402-Payment', description: 'The same as `PAYMENT-SIGNATURE`.', ...legacy }),
    ApiHeader({ name: 'X-PAYMENT', description: 'The same as `PAYMENT-SIGNATURE`.', ...legacy }),
    ApiExtension('x-payment-info', {
      price: { mode: 'dynamic', currency: 'USD', min: '5', max: '10000' },
      protocols: [{ x402: {} }],
    }),
  );
