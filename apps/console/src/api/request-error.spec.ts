import { describe, expect, it } from 'vitest';
import { describeStatus, readErrorBody, toSentence } from './request-error.js';

describe('an error body', () => {
  it.each([
    [{ error: { message: 'No model.', code: 'MODEL_NOT_FOUND' } }, 'No model.', 'MODEL_NOT_FOUND'],
    [
      { error: 'This key is not active', code: 'AUTHENTICATION_FAILED' },
      'This key is not active',
      'AUTHENTICATION_FAILED',
    ],
    [{ message: 'Too large' }, 'Too large', null],
    [{ error: { message: 5 } }, null, null],
    ['<html>', null, null],
    [null, null, null],
  ])('%j says %s', (body, message, code) => {
    expect(readErrorBody(body)).toEqual({ message, code });
  });
});

describe('a message', () => {
  it('ends like a sentence', () => {
    expect(['Wrong key', 'Why?', ' Done. ', 'Wait…'].map(toSentence)).toEqual(['Wrong key.', 'Why?', 'Done.', 'Wait…']);
  });

  it.each([400, 403, 404, 429, 500, 503])('exists for a %d without one', (status) => {
    expect(toSentence(describeStatus(status))).toBe(describeStatus(status));
  });
});
