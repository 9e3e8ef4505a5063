import { describe, expect, it } from 'vitest';
import { exposedHeaders } from '../../apps/api/src/http/cors.js';
import { productSources, readText } from './repository-files.js';

/** Response headers that scripts do not need: only browsers and proxies use them, or they are always readable. */
const notForScripts = [
  'age',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'content-type',
  'vary',
  'x-accel-buffering',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-xss-protection',
];
/** Request headers, of clients and of our own requests to search providers. */
const asked = [
  'x-no-compression',
  'x-service-tee-',
  'x-service-tee-client-pub-key',
  'x-service-tee-model-pub-key',
  'x-service-tee-signing-algo',
  'x-api-key',
  'x-subscription-token',
  'x-stainless-retry-count',
  'x-402-payment',
  'x-payment',
  'x-sign-in-with-x',
  'x-sluice-csrf',
];
/** Extensions of the OpenAPI document and of JSON Schemas. */
const extensions = ['x-payment-info', 'x-default-value', 'x-property-order'];

/** Every response header name in production code, and other names that begin with `x-`. */
function namesInCode(): string[] {
  const names = productSources
    .filter((path) => /^(apps\/api|libs)\//.test(path) && path !== 'apps/api/src/http/cors.ts')
    .flatMap((path) => [...readText(path).matchAll(/\.header\(\s*['"]([\w-]+)['"]|['"](x-[a-z0-9-]+)['"]/gi)])
    .map((match) => (match[1] ?? match[2] ?? '').toLowerCase());
  return [...new Set(names)].toSorted();
}

describe('the response headers exposed to other origins', () => {
  it('include every header that a script can use', () => {
    const listed = new Set<string>([...exposedHeaders, ...notForScripts, ...asked, ...extensions]);
    const found = namesInCode();
    expect(found.length).toBeGreaterThan(30);
    expect(found.filter((name) => !listed.has(name))).toEqual([]);
  });

  it('include no header that is never sent', () => {
    const text = productSources
      .filter((path) => path !== 'apps/api/src/http/cors.ts')
      .map(readText)
      .join('\n')
      .toLowerCase();
    const unquoted = (name: string) => !new RegExp(`['"]${name}['"]|\\b${name}: `).test(text);
    expect(exposedHeaders.filter(unquoted)).toEqual([]);
  });
});
