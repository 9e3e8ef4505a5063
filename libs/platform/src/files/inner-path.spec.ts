import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInnerPath } from './inner-path.js';

const parts = fc.constantFrom('..', '.', '', 'a', 'model.onnx', '\n', 'x\n', '\0', '\r', '\\', '\u2028', '...', '~');
const paths = fc.array(parts, { minLength: 1, maxLength: 6 }).map((segments) => segments.join('/'));

describe('isInnerPath', () => {
  it.each([
    'x\n/../../../evil',
    '../x',
    'a/../b',
    'a/..',
    '..',
    '.',
    '',
    '/etc/passwd',
    'a//b',
    './a',
    'a/',
    'a\\..\\b',
    'a\0',
    'a\r\nb',
    'a\tb',
    'a'.repeat(600),
    '\ud800',
  ])('refuses %j', (path) => {
    expect(isInnerPath(path)).toBe(false);
  });

  it.each(['model.onnx', 'onnx/model_q4.onnx', '1_Pooling/config.json', '..a', 'a..b/c', 'ä b.txt'])(
    'takes %j',
    (path) => {
      expect(isInnerPath(path)).toBe(true);
    },
  );

  it('takes only what stays inside, in its simplest form', () => {
    fc.assert(
      fc.property(fc.oneof(paths, fc.string()), (path) => {
        if (!isInnerPath(path)) return;
        expect(posix.resolve('/srv/models', path)).toBe(`/srv/models/${path}`);
        expect(path).not.toMatch(/\p{Cc}/u);
      }),
      { numRuns: 2_000 },
    );
  });
});
