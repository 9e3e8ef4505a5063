import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiParam, ApiQuery, ApiSecurity } from '@nestjs/swagger';
import { Access, ApiRoute, type DocumentedRoute } from '#platform/http';
import { WalletBalanceResponse, WalletTransactionsResponse } from './wallets.response.js';

/* OpenAPI documents of the routes of wallets. */

const addressPattern = '^(0x[a-fA-F0-9]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$';
const errors = [400, 401, 403, 429, 500];

const common: Pick<DocumentedRoute, 'tags' | 'errors' | 'security'> = { tags: ['x402'], errors, security: 'inherited' };

const balanceDocument: DocumentedRoute = {
  ...common,
  operationId: 'getX402Balance',
  summary: 'Show what a wallet can spend',
  description: 'Free. Of the wallet that signs in, without what running requests have reserved.',
  responses: { 200: { description: 'The balance.', json: WalletBalanceResponse } },
};

const transactionsDocument: DocumentedRoute = {
  ...common,
  operationId: 'getX402Transactions',
  summary: 'List what changed the balance of a wallet',
  description: 'Free. Of the wallet that signs in, newest first. A failed request is listed with its refund.',
  responses: { 200: { description: 'The transactions.', json: WalletTransactionsResponse } },
};

/** A route only for the wallet in its path. */
function WalletRoute(document: DocumentedRoute): MethodDecorator {
  return applyDecorators(
    Access('wallet'),
    ApiRoute(document),
    ApiSecurity('siwx'),
    ApiHeader({
      name: 'SIGN-IN-WITH-X',
      required: true,
      description: 'The sign-in of this wallet.',
      example: 'eyJhZGRyZXNzIjoi…',
    }),
    ApiParam({
      name: 'walletAddress',
      required: true,
      schema: { type: 'string', pattern: addressPattern, example: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
    }),
  );
}

export const BalanceDocument = (): MethodDecorator => WalletRoute(balanceDocument);

export const TransactionsDocument = (): MethodDecorator =>
  applyDecorators(
    WalletRoute(transactionsDocument),
    ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 } }),
    ApiQuery({
      name: 'offset',
      required: false,
      schema: { type: 'integer', nullable: true, minimum: 0, default: 0 },
      description: 'Transactions to pass over; 100,000 at most.',
    }),
  );
