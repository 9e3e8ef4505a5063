import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import type { DocumentedRoute } from '#platform/http';
import { TeeAttestationResponse, TeeSignatureResponse } from './tee.response.js';

const errors = [400, 401, 404, 410, 429, 500, 502, 503];

const ModelQuery = (): MethodDecorator =>
  ApiQuery({
    name: 'model',
    required: true,
    schema: { type: 'string', example: 'stories-15m' },
    description: 'Id, alias or trait.',
  });

export const AttestationQuery = (): MethodDecorator =>
  applyDecorators(
    ModelQuery(),
    ApiQuery({
      name: 'nonce',
      required: false,
      schema: { type: 'string', pattern: '^([0-9a-fA-F]{32}|[0-9a-fA-F]{64})$' },
      description: 'Of the caller, so that the evidence cannot be an old one. Absent: the service makes one.',
    }),
    ApiQuery({
      name: 'signing_address',
      required: false,
      schema: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
      description: 'Of several hosts of a model, the one with this address. Default: any.',
    }),
  );

export const SignatureQuery = (): MethodDecorator =>
  applyDecorators(
    ModelQuery(),
    ApiQuery({
      name: 'request_id',
      required: true,
      schema: { type: 'string', example: 'chatcmpl-9b1c2f' },
      description: 'The `id` of the response, or the id of its request (`cf-ray`).',
    }),
  );

export const attestationDocument: DocumentedRoute = {
  tags: ['TEE'],
  operationId: 'getTeeAttestation',
  summary: 'Attest the key of a model host',
  description: 'Evidence of trusted hardware for the key that a model host signs responses with (docs/guides/tee.md).',
  responses: {
    200: {
      description: 'The key and its evidence.',
      json: TeeAttestationResponse,
      headers: {
        'X-Service-TEE-Warning': { description: 'What is not proven.', schema: { type: 'string' } },
      },
    },
  },
  errors,
};

export const signatureDocument: DocumentedRoute = {
  tags: ['TEE'],
  operationId: 'getTeeSignature',
  summary: 'Get the signature of a response',
  description: 'What the host that answered a request signed about its bytes and those of the response.',
  responses: { 200: { description: 'The signed text and its signature.', json: TeeSignatureResponse } },
  errors,
};
