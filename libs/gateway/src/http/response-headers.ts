import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** Security headers for browsers on API responses. */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-permitted-cross-domain-policies': 'none',
  // Turns off the legacy XSS filter, which could itself leak data.
  'x-xss-protection': '0',
} as const;

const apiPolicy = "default-src 'none'; frame-ancestors 'none'";
/**
 * The documentation pages need their own files, and nothing inline or from other origins. Styles that the page's script
 * sets are not inline ones.
 */
const documentationPolicy =
  "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'";

/** Headers of a client that return as they came, cut to this many characters. */
const echoedHeaders = [
  'x-service-request-timestamp-ms',
  'x-service-mobile-version',
  'x-service-middleface-version',
] as const;
const maxEchoedLength = 64;

/** Returns the headers that echo what the client sent; values that are not printable ASCII are left out. */
export function echoHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const echoed: Record<string, string> = {};
  for (const name of echoedHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && /^[\x20-\x7e]+$/.test(value)) echoed[name] = value.slice(0, maxEchoedLength);
  }
  return echoed;
}

/** Adds the request id, the time and the build version to every response. `x-request-id` is the name that SDKs read. */
export function addResponseHeaders(server: FastifyInstance, version: string): void {
  server.addHook('onRequest', (request, reply, done) => {
    const policy = request.url.startsWith('/docs') ? documentationPolicy : apiPolicy;
    void reply
      .headers(securityHeaders)
      .header('content-security-policy', policy)
      .header('cf-ray', request.id)
      .header('x-request-id', request.id)
      .header('x-service-timestamp', new Date().toISOString())
      .headers(echoHeaders(request.headers))
      .header('x-service-version', version);
    done();
  });
}
