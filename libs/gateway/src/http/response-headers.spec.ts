import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { addResponseHeaders } from './response-headers.js';

describe('response headers', () => {
  const server = fastify({ genReqId: () => 'f00d-SLC' });
  addResponseHeaders(server, '20261122.000000');
  server.get('/api/v1/models', () => 'x');
  server.get('/docs', () => 'x');

  it('include the browser security headers, also on errors', async () => {
    for (const url of ['/api/v1/models', '/nowhere']) {
      const { headers } = await server.inject({ url });
      expect(headers).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'origin-agent-cluster': '?1',
        'referrer-policy': 'no-referrer',
        'strict-transport-security': 'max-age=31536000; includeSubDomains',
        'x-content-type-options': 'nosniff',
        'x-dns-prefetch-control': 'off',
        'x-download-options': 'noopen',
        'x-frame-options': 'DENY',
        'x-permitted-cross-domain-policies': 'none',
        'x-xss-protection': '0',
        'cf-ray': 'f00d-SLC',
        'x-service-version': '20261122.000000',
      });
      expect(Object.keys(headers)).not.toContain('x-powered-by');
      expect(Object.keys(headers)).not.toContain('server');
    }
  });

  it('let the documentation pages run only their own scripts', async () => {
    const { headers } = await server.inject({ url: '/docs' });
    expect(headers['content-security-policy']).toContain("default-src 'self'");
  });
});
