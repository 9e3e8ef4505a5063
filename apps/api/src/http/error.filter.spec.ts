import type { ArgumentsHost } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import type { Logger } from '#platform/logging';
import { ErrorFilter } from './error.filter.js';
import { RouteTable } from './route-table.js';

function caught(exception: unknown, readableAborted: boolean) {
  const request = { id: 'f00d', url: '/api/v1/chat/completions', raw: { readableAborted } };
  const reply = { raw: { headersSent: false }, status: vi.fn(), headers: vi.fn(), send: vi.fn() };
  reply.status.mockReturnValue(reply);
  const http = { getRequest: () => request, getResponse: () => reply };
  const logger = { error: vi.fn(), warn: vi.fn() };
  new ErrorFilter(new RouteTable(), logger as unknown as Logger).catch(exception, {
    switchToHttp: () => http,
  } as unknown as ArgumentsHost);
  return { logged: [...logger.error.mock.calls, ...logger.warn.mock.calls], status: reply.status.mock.calls[0]?.[0] };
}

describe('ErrorFilter', () => {
  it('logs what broke in here, with the id the caller was given', () => {
    const { logged, status } = caught(new Error('a bug'), false);
    expect([logged.length, status]).toEqual([1, 500]);
    expect(logged[0]?.[0]).toMatchObject({ requestId: 'f00d' });
  });

  it('does not call it a failure when a caller hangs up in the middle of a body', () => {
    const { logged, status } = caught(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }), true);
    expect([logged, status]).toEqual([[], 400]);
  });
});
