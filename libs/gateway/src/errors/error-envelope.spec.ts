import { describe, expect, it } from 'vitest';
import { errorTable, type ErrorCode, PlatformError, type RetryAdvice } from '#common';
import { errorEvent, errorResponse, isAnthropicPath, isOpenaiPath } from './error-envelope.js';

const openaiRoute = '/api/v1/chat/completions?x=1';
const otherRoute = '/api/v1/billing/balance';

function answer(code: ErrorCode, url: string) {
  return errorResponse(new PlatformError(code, 'It went wrong.', 'field'), url);
}

describe('errorResponse', () => {
  it('uses the OpenAI error object on OpenAI routes and the plain one elsewhere', () => {
    expect(answer('INVALID_REQUEST', openaiRoute).body).toEqual({
      error: { message: 'It went wrong.', type: 'invalid_request_error', param: 'field', code: 'INVALID_REQUEST' },
    });
    expect(answer('INVALID_REQUEST', otherRoute).body).toEqual({ error: 'It went wrong.', code: 'INVALID_REQUEST' });
  });

  it('uses the Anthropic error object on the routes of messages, with the id of the request', () => {
    const error = new PlatformError('INVALID_REQUEST', 'It went wrong.', 'field');
    expect(errorResponse(error, '/api/v1/messages/count_tokens', { requestId: 'r1' })).toEqual({
      status: 400,
      headers: { 'x-should-retry': 'false', 'request-id': 'r1' },
      body: {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'field: It went wrong.' },
        request_id: 'r1',
      },
    });
  });

  it.each([
    ['AUTHENTICATION_FAILED', 401, 'authentication_error'],
    ['INSUFFICIENT_BALANCE', 402, 'billing_error'],
    ['UNAUTHORIZED', 403, 'permission_error'],
    ['MODEL_NOT_FOUND', 404, 'not_found_error'],
    ['IDEMPOTENCY_KEY_IN_USE', 409, 'conflict_error'],
    ['PAYLOAD_TOO_LARGE', 413, 'request_too_large'],
    ['INVALID_CONTENT_TYPE', 415, 'invalid_request_error'],
    ['RATE_LIMIT_EXCEEDED', 429, 'rate_limit_error'],
    ['INFERENCE_FAILED', 500, 'api_error'],
    ['MODEL_AT_CAPACITY', 503, 'overloaded_error'],
    ['DEVICE_LOST', 503, 'api_error'],
    ['REQUEST_TIMEOUT', 504, 'timeout_error'],
  ] as const)('maps %s to %i and the Anthropic type %s', (code, status, type) => {
    expect(answer(code, '/api/v1/messages')).toMatchObject({ status, body: { type: 'error', error: { type } } });
  });

  it('ends a stream with the error event of its route', () => {
    const error = new PlatformError('INFERENCE_FAILED', 'It went wrong.');
    expect(errorEvent(error, '/api/v1/messages', 'r1')).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"It went wrong."},"request_id":"r1"}\n\n',
    );
    expect(errorEvent(error, openaiRoute, 'r1')).toMatch(/^data: \{"error":\{"message":"It went wrong\."/);
  });

  it('names the limit once more to callers of blockchain nodes', () => {
    const body = { error: 'It went wrong.', code: 'RATE_LIMIT_EXCEEDED' };
    expect(answer('RATE_LIMIT_EXCEEDED', '/api/v1/crypto/rpc/:network').body).toEqual({
      ...body,
      customMessage: 'It went wrong.',
    });
    expect(answer('RATE_LIMIT_EXCEEDED', otherRoute).body).toEqual(body);
    expect(answer('INVALID_REQUEST', '/api/v1/crypto/rpc/:network').body).not.toHaveProperty('customMessage');
  });

  it('reports a context overflow with the OpenAI code', () => {
    expect(answer('TOO_MANY_TOKENS', openaiRoute)).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded', type: 'invalid_request_error' } },
    });
  });

  it('exposes no internal code', () => {
    for (const code of ['DEVICE_LOST', 'JOB_CANCELLED'] as const) {
      for (const url of [openaiRoute, otherRoute]) {
        const { status, body } = answer(code, url);
        expect(status).toBe(503);
        expect(JSON.stringify(body)).not.toContain(code);
      }
    }
  });

  it('sets Retry-After where a retry can help and x-should-retry: false where it cannot', () => {
    for (const code of Object.keys(errorTable) as ErrorCode[]) {
      const { status, headers } = answer(code, openaiRoute);
      if (status === 503 || status === 429) expect(headers['retry-after'], code).toMatch(/^\d+$/);
      if (status < 500 && status !== 429) expect(headers['x-should-retry'], code).toBe('false');
    }
    expect(answer('REQUEST_TIMEOUT', openaiRoute).headers['x-should-retry']).toBe('false');
    expect(answer('MODEL_OFFLINE', openaiRoute).headers['x-should-retry']).toBeUndefined();
  });

  it('uses the retry information of the error itself', () => {
    const refused = (retry: RetryAdvice) =>
      errorResponse(new PlatformError('RATE_LIMIT_EXCEEDED', 'x', null, { retry }), openaiRoute).headers;
    expect(refused({ afterSeconds: 42 })).toEqual({ 'retry-after': '42' });
    expect(refused('never')).toEqual({ 'x-should-retry': 'false' });
  });

  it('nests the issues by field', () => {
    const issues = [
      { code: 'too_big', path: ['messages', 0, 'name'], message: 'too long' },
      { code: 'custom', path: ['constructor'], message: 'odd' },
    ];
    const { body } = errorResponse(new PlatformError('INVALID_REQUEST', 'x', null, { issues }), otherRoute);
    expect(body).toMatchObject({
      issues,
      details: {
        _errors: [],
        messages: { 0: { name: { _errors: ['too long'] } } },
        constructor: { _errors: ['odd'] },
      },
    });
  });
});

describe('isAnthropicPath', () => {
  it.each([
    ['/api/v1/messages?beta=true', true],
    ['/api/v1/messages/batches', true],
    ['/api/v1/messagesx', false],
    ['/messages', false],
  ])('maps %s to %s', (url, expected) => {
    expect(isAnthropicPath(url)).toBe(expected);
  });
});

describe('isOpenaiPath', () => {
  it.each([
    ['/api/v1/models', true],
    ['/api/v1/models/traits', true],
    ['/api/v1/models?type=all', true],
    ['/api/v1/modelsx', false],
    ['/health/live', false],
  ])('maps %s to %s', (url, expected) => {
    expect(isOpenaiPath(url)).toBe(expected);
  });
});
