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
  // Turns off the legacy XSS filter, which itself could leak data.
  'x-xss-protection': '0',
} as const;

const apiPolicy = "default-src 'none'; frame-ancestors 'none'";
/** The documentation pages need their own scripts and styles, and nothing from other origins. */
const documentationPolicy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** Adds the request id and the build version to every response. */
export function addResponseHeaders(server: FastifyInstance, version: string): void {
  server.addHook('onRequest', (request, reply, done) => {
    const policy = request.url.startsWith('/docs') ? documentationPolicy : apiPolicy;
    void reply
      .headers(securityHeaders)
      .header('content-security-policy', policy)
      .header('cf-ray', request.id)
      .header('x-service-version', version);
    done();
  });
}
