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

  it('name the request as SDKs read it, say the time and echo what the client sent, cut to 64 characters', async () => {
    const sent = {
      'x-service-request-timestamp-ms': '1763890000000',
      'x-service-mobile-version': 'v'.repeat(80),
      'x-service-middleface-version': 'é',
    };
    const { headers } = await server.inject({ url: '/nowhere', headers: sent });
    expect(headers).toMatchObject({
      'x-request-id': 'f00d-SLC',
      'x-service-timestamp': expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      'x-service-request-timestamp-ms': '1763890000000',
      'x-service-mobile-version': 'v'.repeat(64),
    });
    expect(headers).not.toHaveProperty('x-service-middleface-version');
  });

  it('let the documentation pages run only their own scripts', async () => {
    const { headers } = await server.inject({ url: '/docs' });
    expect(headers['content-security-policy']).toContain("default-src 'self'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
  });
});
