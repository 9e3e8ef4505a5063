import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiSecurity, getSchemaPath } from '@nestjs/swagger';
import { PaymentDiscovery, WalletPaymentRequired } from './payment-document.js';
import { routeSettings } from '../http/route-access.js';

/** Metadata key of the responses of a route in the document; its decorators replace a whole response. */
const responsesKey = 'swagger/apiResponse';

interface DocumentedAnswer {
  headers?: Record<string, object>;
  content?: Record<string, { schema?: object }>;
}

const balanceHeader = {
  'X-Balance-Remaining': {
    description: 'Callers with a wallet: USD that could be spent when this request was admitted; six decimals.',
    schema: { type: 'string', example: '4.230000' },
  },
};

const paymentHeader = {
  'PAYMENT-REQUIRED': {
    description: 'Where wallets are on: base64 of the x402 requirements.',
    schema: { type: 'string' },
  },
};

/**
 * Declares a route that callers may use with the sign-in of a wallet instead of a key, and what it answers them. It has to
 * be applied after `ApiRoute`, whose responses it completes: above it.
 */
export function Wallets(): MethodDecorator {
  return applyDecorators(
    routeSettings({ wallets: true }),
    ApiSecurity('siwx'),
    ApiExtraModels(PaymentDiscovery, WalletPaymentRequired),
    completeResponses,
  );
}

const completeResponses: MethodDecorator = (_target, _key, descriptor) => {
  const handler = descriptor.value as object;
  const responses = Reflect.getMetadata(responsesKey, handler) as Record<string, DocumentedAnswer> | undefined;
  const completed = Object.entries(responses ?? {}).map(([status, answer]) => {
    if (status === '200') return [status, { ...answer, headers: { ...answer.headers, ...balanceHeader } }];
    return [status, status === '402' ? withPayment(answer) : answer];
  });
  Reflect.defineMetadata(responsesKey, Object.fromEntries(completed), handler);
};

/** The error of a caller with a key, or one of the two bodies for wallets. */
function withPayment(answer: DocumentedAnswer): DocumentedAnswer {
  const { schema = {} } = answer.content?.['application/json'] ?? {};
  const forWallets = [PaymentDiscovery, WalletPaymentRequired].map((model) => ({ $ref: getSchemaPath(model) }));
  const content = { 'application/json': { schema: { oneOf: [schema, ...forWallets] } } };
  return { ...answer, headers: { ...answer.headers, ...paymentHeader }, content };
}
