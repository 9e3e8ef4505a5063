import type { FastifyInstance } from 'fastify';

/** Headers that make a browser careful with what an API answers. */
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
  // The filter that it switches off could be made to leak.
  'x-xss-protection': '0',
} as const;

const apiPolicy = "default-src 'none'; frame-ancestors 'none'";
/** The documentation pages need their own scripts and styles, and nothing from elsewhere. */
const documentationPolicy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** Every answer says which request it belongs to and which build made it. */
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
