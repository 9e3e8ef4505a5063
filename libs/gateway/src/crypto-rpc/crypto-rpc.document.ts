import { ApiBody, ApiParam } from '@nestjs/swagger';
import { maxCalls } from '#chains';
import type { DocumentedRoute } from '#platform/http';
import { CryptoRpcNetworksResponse } from './crypto-rpc.response.js';

/* Schemas rather than classes: a body is one object or a list, and its ids and params have several types. */

const idSchema = { oneOf: [{ type: 'integer' }, { type: 'string' }] };

const callSchema = {
  type: 'object',
  required: ['method'],
  properties: {
    jsonrpc: { type: 'string', enum: ['2.0'] },
    method: { type: 'string', example: 'eth_blockNumber' },
    params: { type: 'array', items: {}, example: [] },
    id: { ...idSchema, description: 'Required: calls without an answer are not supported.' },
  },
};

const answerSchema = {
  type: 'object',
  properties: {
    jsonrpc: { type: 'string' },
    id: idSchema,
    result: {},
    error: {
      type: 'object',
      properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
    },
  },
};

const bodySchema = { oneOf: [callSchema, { type: 'array', maxItems: maxCalls, items: callSchema }] };
const responseSchema = { oneOf: [answerSchema, { type: 'array', items: answerSchema }] };

const call = (id: number, method: string) => ({ jsonrpc: '2.0', id, method, params: [] });

export const RpcBody = (): MethodDecorator =>
  ApiBody({
    required: true,
    schema: bodySchema as object,
    examples: {
      call: { summary: 'One call', value: call(1, 'eth_blockNumber') },
      batch: { summary: 'A batch', value: [call(1, 'eth_chainId'), call(2, 'eth_blockNumber')] },
    },
  });

export const NetworkParameter = (): MethodDecorator =>
  ApiParam({ name: 'network', required: true, schema: { type: 'string', example: 'ethereum-mainnet' } });

export const networksDocument: DocumentedRoute = {
  tags: ['Crypto RPC'],
  operationId: 'listCryptoRpcNetworks',
  summary: 'List the networks',
  description: 'Names for `POST /crypto/rpc/{network}`, sorted. A key is not needed.',
  responses: { 200: { description: 'The networks.', json: CryptoRpcNetworksResponse } },
  errors: [429],
  security: 'inherited',
};

const integer = { schema: { type: 'integer' } };
const text = { schema: { type: 'string' } };

export const callsDocument: DocumentedRoute = {
  tags: ['Crypto RPC'],
  operationId: 'cryptoRpcProxy',
  summary: 'Call a blockchain node',
  description:
    'JSON-RPC 2.0. Calls are charged in credits; a call that ends in an error costs 5. Errors of calls have status 200.',
  responses: {
    200: {
      description: 'The answers, in the order of the calls, as the node wrote them.',
      headers: {
        'X-Service-RPC-Credits': { description: 'Credits that the request cost.', ...integer },
        'X-Service-RPC-Cost-USD': { description: 'The same in USD.', ...text },
        'X-Request-ID': { description: 'Id of the request.', ...text },
        'Idempotent-Replayed': { description: 'A stored response.', schema: { type: 'string', enum: ['true'] } },
      },
      content: { 'application/json': { schema: responseSchema } },
    },
    429: {
      description: 'A limit is reached; `customMessage` names it.',
      headers: {
        'X-RateLimit-Limit': { description: 'The limit.', ...integer },
        'X-RateLimit-Remaining': { description: 'What is left of it.', ...integer },
        'X-RateLimit-Reset': { description: 'Unix time in seconds when the request fits.', ...integer },
      },
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['error', 'code', 'customMessage'],
            properties: { error: { type: 'string' }, code: { type: 'string' }, customMessage: { type: 'string' } },
          },
        },
      },
    },
  },
  errors: [400, 401, 402, 403, 413, 415, 500, 503, 504],
};
