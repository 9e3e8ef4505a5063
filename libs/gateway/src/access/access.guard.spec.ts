import type { ExecutionContext } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import type { RequestCaller, RouteSettings } from '#platform/http';
import { AccessGuard } from './access.guard.js';

const callers = {
  nobody: null,
  inference: { kind: 'INFERENCE' } as RequestCaller,
  admin: { kind: 'ADMIN' } as RequestCaller,
  operator: { kind: 'ADMIN', isOperator: true } as RequestCaller,
};

/** Returns true when the guard lets the caller into a route, or else the code with which it refuses. */
function decisionFor(caller: keyof typeof callers, config: RouteSettings, url = '/api/v1/things'): true | string {
  const request = { caller: callers[caller], url, routeOptions: { url, config } };
  const context = { switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext;
  try {
    return new AccessGuard().canActivate(context) as true;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('AccessGuard', () => {
  it('asks for a key where a route declares nothing', () => {
    expect([decisionFor('nobody', {}), decisionFor('inference', {}), decisionFor('admin', {})]).toEqual([
      'AUTHENTICATION_FAILED',
      true,
      true,
    ]);
  });

  it('lets ADMIN keys alone into admin routes', () => {
    const route = { access: 'admin' } as const;
    expect([decisionFor('nobody', route), decisionFor('inference', route), decisionFor('admin', route)]).toEqual([
      'AUTHENTICATION_FAILED',
      'UNAUTHORIZED',
      true,
    ]);
  });

  it('lets ADMIN keys of an operator account alone into operator routes', () => {
    const route = { access: 'operator' } as const;
    const callerNames = ['nobody', 'inference', 'admin', 'operator'] as const;
    expect(callerNames.map((caller) => decisionFor(caller, route, '/api/admin/v1/workers'))).toEqual([
      'AUTHENTICATION_FAILED',
      'UNAUTHORIZED',
      'UNAUTHORIZED',
      true,
    ]);
  });

  it.each(['public', 'anonymous'] as const)('lets everybody into %s routes', (access) => {
    expect(decisionFor('nobody', { access })).toBe(true);
  });

  it('leaves routes outside the base path alone', () => {
    expect(decisionFor('nobody', {}, '/health/live')).toBe(true);
  });
});
