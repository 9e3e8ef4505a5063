import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { signInHeader } from '#accounts';
import { PlatformError } from '#common';
import type { RequestCaller, RouteSettings } from '#platform/http';
import { isApiRoute } from '../request/api-route.js';

/** Throws unless `caller` may call a route that declares `access`. */
export function assertAccess(caller: RequestCaller | null, access: NonNullable<RouteSettings['access']>): void {
  if (access === 'public' || access === 'anonymous') return;
  if (caller === null) {
    throw new PlatformError('AUTHENTICATION_FAILED', 'An API key is required: authorization: Bearer <key>.');
  }
  if (access === 'wallet' && caller.wallet === undefined) {
    throw new PlatformError('X402_INVALID_SIGN_IN', 'This needs the sign-in of a wallet.', signInHeader);
  }
  if ((access === 'admin' || access === 'operator') && caller.kind !== 'ADMIN') {
    throw new PlatformError('UNAUTHORIZED', 'This needs an ADMIN key.');
  }
  if (access === 'operator' && caller.isOperator !== true) {
    throw new PlatformError('UNAUTHORIZED', 'This needs an ADMIN key of an operator account.');
  }
}

/** Holds every handler to the `@Access` of its route; without one, any valid key may call it. */
@Injectable()
export class AccessGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (isApiRoute(request)) {
      const { access = 'inference' } = request.routeOptions.config as RouteSettings;
      assertAccess(request.caller, access);
    }
    return true;
  }
}
