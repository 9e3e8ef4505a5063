import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { acceptedQuality } from '#platform/text';
import { type ConsoleFile, ConsoleFiles } from './console-files.js';

/** Only the console's own files run, and only forms and requests to the api itself are sent. */
export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const notBuilt =
  '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Sluice</title></head>\n' +
  '<body><p>The console is not built here yet: run <code>npm run build</code> and reload this page.</p></body>\n</html>\n';

/** Where the build puts the console: `dist/console` of this checkout or package. */
export function builtConsoleFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, 'dist', 'console');
}

/**
 * Serves the console under `/console/` and sends browsers there from `/`. All links and redirects are relative, so the
 * console works under every path at which a proxy publishes the api.
 */
export function addConsolePages(server: FastifyInstance, folder: string = builtConsoleFolder()): void {
  const files = new ConsoleFiles(folder);
  // A hook and not a route: for clients of the API nothing is at this address, whatever their method.
  server.addHook('onRequest', (request, reply, done) => {
    if (!isVisitOfRoot(request)) return done();
    void reply.header('vary', 'accept').redirect('console/', 303);
  });
  server.get('/console', async (request, reply) => {
    // The router takes both for one address, but relative links of a page depend on the slash at its end.
    if (!pathOf(request).endsWith('/')) return reply.redirect('console/', 303);
    const index = await files.index();
    if (index !== null) return send(request, reply, index);
    return withPolicy(reply)
      .status(503)
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(notBuilt);
  });
  server.get<{ Params: { '*': string } }>('/console/*', async (request, reply) => {
    const file = await files.find(request.params['*']);
    if (file === null) throw new PlatformError('NOT_FOUND', 'There is nothing at this address.');
    return send(request, reply, file);
  });
}

function pathOf({ url }: Pick<FastifyRequest, 'url'>): string {
  return url.split('?', 1)[0] ?? '';
}

/** True for a browser that opens the address of the api itself. */
function isVisitOfRoot(request: FastifyRequest): boolean {
  if (pathOf(request) !== '/' || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
  return prefersHtml(request.headers.accept);
}

/** True when a client names HTML, as browsers do, and does not prefer JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  const html = acceptedQuality(accept, 'text/html');
  return html > 0 && html >= acceptedQuality(accept, 'application/json');
}

function withPolicy(reply: FastifyReply): FastifyReply {
  return reply.header('content-security-policy', consolePolicy);
}

function send({ headers }: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const takesGzip = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  void withPolicy(reply)
    .type(file.type)
    .header('cache-control', file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-store')
    .header('vary', 'accept-encoding');
  if (file.gzipped === null || !takesGzip) return reply.send(file.body);
  return reply.header('content-encoding', 'gzip').send(file.gzipped);
}
