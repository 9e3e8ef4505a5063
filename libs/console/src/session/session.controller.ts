import { Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { ConsoleSessionsService, csrfHeader, sessionTokensIn } from '#accounts';
import { PlatformError } from '#common';
import { Access, Exchange, type HttpExchange, queryFault, RequestBody } from '#platform/http';
import { serviceVersion } from '#platform/health';
import { SignInRequest } from './session.request.js';
import { presentSession, type SessionResponse } from './session.response.js';

const cookiePath = /^\/(?:[\w.~%-]+\/)*$/;

/** Signs browsers in to the console and out. These routes are the console's own and not part of the API. */
@Controller('console/session')
@ApiExcludeController()
export class SessionController {
  private readonly version = serviceVersion();

  constructor(private readonly sessions: ConsoleSessionsService) {}

  @Post()
  @HttpCode(200)
  @Access('anonymous', { guarded: true })
  async signIn(
    @RequestBody(SignInRequest) { apiKey, token: linkToken, path = '/' }: SignInRequest,
    @Exchange() http: HttpExchange,
  ): Promise<SessionResponse> {
    refuseOtherSites(http.request);
    assertCookiePath(path);
    const token = await this.open(apiKey, linkToken);
    const session = await this.sessions.find(token);
    if (session === null) throw noSession();
    const cookie = this.sessions.cookieOf(token, { path, isSecure: isSecure(http.request) });
    http.setHeaders({ 'set-cookie': cookie, 'cache-control': 'no-store' });
    return presentSession(session, this.version);
  }

  @Get()
  async show(@Exchange() http: HttpExchange): Promise<SessionResponse> {
    http.setHeaders({ 'cache-control': 'no-store' });
    for (const token of this.sessions.tokensIn(http.request.headers.cookie)) {
      const session = await this.sessions.find(token);
      if (session !== null) return presentSession(session, this.version);
    }
    throw noSession();
  }

  @Delete()
  @HttpCode(204)
  async signOut(@Exchange() http: HttpExchange, @Query('path') path: unknown = '/'): Promise<void> {
    const { headers } = http.request;
    refuseOtherSites(http.request);
    assertCookiePath(path);
    const csrf = headers[csrfHeader];
    const matching =
      typeof csrf === 'string'
        ? sessionTokensIn(headers.cookie).filter((token) => this.sessions.isCsrfTextOf(token, csrf))
        : [];
    // A page without the text, or with that of an earlier session, signs out of whatever the browser sends along.
    const tokens = matching.length > 0 ? matching : this.sessions.tokensIn(headers.cookie);
    for (const token of tokens) await this.sessions.end(token);
    const cookie = this.sessions.endedCookieOf({ path, isSecure: isSecure(http.request) });
    http.setHeaders({ 'set-cookie': cookie, 'cache-control': 'no-store' });
  }

  private async open(apiKey: string | undefined, linkToken: string | undefined): Promise<string> {
    if ((apiKey === undefined) === (linkToken === undefined)) {
      throw queryFault('apiKey', 'Give apiKey or token, and not both.');
    }
    return linkToken === undefined ? this.sessions.openWithKey(apiKey ?? '') : this.sessions.openWithLink(linkToken);
  }
}

function assertCookiePath(path: unknown): asserts path is string {
  if (typeof path === 'string' && cookiePath.test(path)) return;
  throw queryFault('path', 'path must be a path with a slash at both ends.');
}

function noSession(): PlatformError {
  return new PlatformError('AUTHENTICATION_FAILED', 'There is no session, or it has ended. Sign in.');
}

/** Browsers say where a request comes from; other clients send no such header. */
function refuseOtherSites({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw new PlatformError('UNAUTHORIZED', 'Only the pages of this console may sign in and out.');
}

/** Whether the browser reached the api over TLS, which a proxy may have ended: it says so by the origin of its page. */
function isSecure({ headers, protocol }: FastifyRequest): boolean {
  return protocol === 'https' || headers.origin?.startsWith('https://') === true;
}
