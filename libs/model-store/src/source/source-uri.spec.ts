import { describe, expect, it } from 'vitest';
import { parseSourceUri } from './source-uri.js';

describe('parseSourceUri', () => {
  it.each([
    ['npm:some-package@1.2.3', { kind: 'npm', name: 'some-package', version: '1.2.3' }],
    ['npm:@scope/some.package@0.1.0-rc.1', { kind: 'npm', name: '@scope/some.package', version: '0.1.0-rc.1' }],
    ['hf:owner/model', { kind: 'hf', repository: 'owner/model', revision: 'main' }],
    ['hf:owner/model@v1.0', { kind: 'hf', repository: 'owner/model', revision: 'v1.0' }],
    ['hf:owner/model@refs/pr/1', { kind: 'hf', repository: 'owner/model', revision: 'refs/pr/1' }],
    ['file:/weights/model', { kind: 'file', path: '/weights/model' }],
    ['file:///weights/model', { kind: 'file', path: '/weights/model' }],
    ['https://example.org/a', { kind: 'https', url: new URL('https://example.org/a') }],
    ['http://127.0.0.1:8080/a', { kind: 'https', url: new URL('http://127.0.0.1:8080/a') }],
  ])('takes %s apart', (uri, expected) => {
    expect(parseSourceUri(uri)).toEqual(expected);
  });

  it.each([
    'npm:some-package',
    'npm:some-package@^1.0.0',
    'npm:some-package@latest',
    'npm:../package@1.0.0',
    'hf:',
    'hf:owner/model/extra',
    'https:',
    'http://example.org/a',
    'ftp://example.org/a',
    'some-package',
  ])('refuses %s', (uri) => {
    expect(() => parseSourceUri(uri)).toThrow(expect.objectContaining({ code: 'INVALID_MANIFEST' }));
  });
});
