import { describe, expect, it } from 'vitest';
import { exposedHeaders } from '../../apps/api/src/http/cors.js';
import { productSources, readText } from './repository-files.js';

/** Headers of answers that no script needs: only browsers and proxies heed them, or every script may read them anyway. */
const notForScripts = [
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'x-accel-buffering',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-xss-protection',
];
/** Headers of requests. */
const asked = ['x-no-compression', 'x-service-tee-client-pub-key'];

/** Every name that the product gives a header of an answer, and the other names that begin with `x-`. */
function namesInCode(): string[] {
  const names = productSources
    .filter((path) => /^(apps\/api|libs)\//.test(path) && path !== 'apps/api/src/http/cors.ts')
    .flatMap((path) => [...readText(path).matchAll(/\.header\(\s*['"]([\w-]+)['"]|['"](x-[a-z0-9-]+)['"]/gi)])
    .map((match) => (match[1] ?? match[2] ?? '').toLowerCase());
  return [...new Set(names)].toSorted();
}

describe('what scripts of other origins may read', () => {
  it('is every header of an answer that a script has a use for', () => {
    const listed = new Set<string>([...exposedHeaders, ...notForScripts, ...asked]);
    const found = namesInCode();
    expect(found.length).toBeGreaterThan(30);
    expect(found.filter((name) => !listed.has(name))).toEqual([]);
  });

  it('is nothing that no answer has', () => {
    const text = productSources
      .filter((path) => path !== 'apps/api/src/http/cors.ts')
      .map(readText)
      .join('\n')
      .toLowerCase();
    const unquoted = (name: string) => !new RegExp(`['"]${name}['"]|\\b${name}: `).test(text);
    expect(exposedHeaders.filter(unquoted)).toEqual([]);
  });
});
