import { describe, expect, it } from 'vitest';
import { connectionFailure } from './connection-failure.js';
import { PlatformError } from '#common';

const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' });

describe('connectionFailure', () => {
  it('says of a driver error what to check', () => {
    expect(connectionFailure(refused)).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message:
        'The database cannot be used. Connections are refused: check that it runs, and the host and port in its URL. ' +
        '(connect ECONNREFUSED 10.0.0.7:5432)',
    });
  });

  it('names the store of an error that wraps it', () => {
    const wrapped = new PlatformError('SERVICE_UNAVAILABLE', 'Redis did not answer.', null, { cause: refused });
    expect(connectionFailure(wrapped)?.message).toMatch(/^Redis did not answer\. Connections are refused/);
    const password = { code: 'P2010', meta: { driverAdapterError: { cause: { code: '28P01' } } } };
    expect(connectionFailure(password)?.message).toContain('The password is refused');
  });

  it('leaves every other error alone', () => {
    const loop: { cause?: unknown } = {};
    loop.cause = loop;
    for (const error of [new Error('x'), undefined, null, 'x', { code: 1 }, loop]) {
      expect(connectionFailure(error)).toBeNull();
    }
  });
});
