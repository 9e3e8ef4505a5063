import type { DocumentedRoute } from '#platform/http';
import { CreateApiKeyRequest, CreateWeb3KeyRequest, UpdateApiKeyRequest } from './api-key.request.js';
import {
  ChangedKeyDataResponse,
  CreatedKeyDataResponse,
  DeletedKeyResponse,
  KeyDataResponse,
  KeyListResponse,
  Web3TokenDataResponse,
} from './api-key.response.js';

/* OpenAPI documents of the routes of API keys. */

const createExamples = {
  plain: { summary: 'A key without limits', value: { apiKeyType: 'INFERENCE', description: 'Batch jobs' } },
  limited: {
    summary: 'A key that may spend 5 USD a day, until a date',
    value: {
      apiKeyType: 'INFERENCE',
      description: 'Trial',
      expiresAt: '2099-12-31',
      consumptionLimit: { usd: 5 },
      limitPeriod: 'EPOCH',
    },
  },
};

const updateExamples = {
  limit: {
    summary: 'Another limit, and no expiry',
    value: { id: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11', consumptionLimit: { usd: 20 }, expiresAt: null },
  },
};

const walletExamples = {
  wallet: {
    summary: 'A key for a wallet with a stake',
    value: {
      apiKeyType: 'INFERENCE',
      address: '0x52908400098527886E0F7030069857D2E4169EE7',
      token: 'eyJhbGciOi…',
      signature: '0x3d5f…1b',
    },
  },
};

const tags = ['API Keys'];
const ofAdmin = { tags, security: 'inherited' } as const;
const ofWallet = { tags, security: 'none' } as const;

export const apiKeysDocuments = {
  list: {
    ...ofAdmin,
    operationId: 'getApiKeys',
    summary: 'List the keys of the account',
    description: 'Every key that works, with its limits and usage. The key itself is shown only when it is created.',
    responses: { 200: { json: KeyListResponse } },
    errors: [401, 403, 429, 500],
  },
  find: {
    ...ofAdmin,
    operationId: 'getApiKeyById',
    summary: 'Show a key',
    description: 'One key of the account by its id, with its limits and usage.',
    responses: { 200: { json: KeyDataResponse } },
    errors: [401, 403, 404, 429, 500],
  },
  create: {
    ...ofAdmin,
    operationId: 'createApiKey',
    summary: 'Create a key',
    description: 'Returns a new key, which is shown this once. Limits of spending and an expiry are optional.',
    body: CreateApiKeyRequest,
    examples: createExamples,
    responses: { 200: { json: CreatedKeyDataResponse } },
    errors: [400, 401, 403, 415, 429, 500],
  },
  update: {
    ...ofAdmin,
    operationId: 'updateApiKey',
    summary: 'Change a key',
    description: 'Changes what the body names; the rest stays. Null removes a limit.',
    body: UpdateApiKeyRequest,
    examples: updateExamples,
    responses: { 200: { json: ChangedKeyDataResponse } },
    errors: [400, 401, 403, 415, 429, 500],
  },
  delete: {
    ...ofAdmin,
    operationId: 'deleteApiKey',
    summary: 'Revoke a key',
    description: 'The key stops working within 5 seconds. Its charges stay in the history.',
    responses: { 200: { json: DeletedKeyResponse } },
    errors: [400, 401, 403, 429, 500],
  },
  walletToken: {
    ...ofWallet,
    operationId: 'getApiKeyGenerateWeb3Key',
    summary: 'Get a token for a wallet to sign',
    description: 'A token for the `POST` of the same path. It works once, for some minutes.',
    responses: { 200: { json: Web3TokenDataResponse } },
    errors: [429, 500],
  },
  createForWallet: {
    ...ofWallet,
    operationId: 'postApiKeyGenerateWeb3Key',
    summary: 'Create a key for the wallet that signed the token',
    description:
      'Checks the signature of an Ethereum wallet and returns a key of its account, which is created if need be.',
    body: CreateWeb3KeyRequest,
    examples: walletExamples,
    responses: { 200: { json: CreatedKeyDataResponse } },
    errors: [400, 415, 429, 500],
  },
} satisfies Record<string, DocumentedRoute>;
