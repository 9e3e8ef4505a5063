import { describe, expect, it } from 'vitest';
import { repositoryFiles, readText } from './repository-files.js';

/* docs/start/troubleshooting.md quotes what Sluice says. Each quotation must still be what it says. */

const speaking =
  /^(apps\/(local|worker)\/src|libs\/(model-store|model-registry|platform)\/src|bin|scripts)\/.*(?<!spec)\.(ts|mjs)$/;

/** The sources that speak, with texts that are joined over several lines put together. */
const sources = repositoryFiles
  .filter((path) => speaking.test(path))
  .map((path) => readText(path).replaceAll(/['`] \+\s+['`]/g, ''))
  .join('\n');

const rows = [...readText('docs/start/troubleshooting.md').matchAll(/^\| (?!-|Cause)([^|]+?) +\| ([^|]+?) +\|/gm)].map(
  ([, cause = '', quotation = '']) => ({ cause, quotation }),
);

describe('docs/start/troubleshooting.md', () => {
  it('lists faults', () => {
    expect(rows.length).toBeGreaterThan(15);
  });

  it.each(rows)('quotes what is said when: $cause', ({ quotation }) => {
    const pieces = quotation.split(/…|3000|127\.0\.0\.1|\(EACCES|\(EROFS|\(401\)/).map((piece) => piece.trim());
    const missing = pieces.filter((piece) => piece.length > 3 && !sources.includes(piece));
    expect(missing).toEqual([]);
  });
});

const tests = [
  ...readText('docs/contribute/first-start-faults.md').matchAll(
    /^\| (?!-|Fault)([^|]+?) +\| `([^`]+)` +\| ([^|]+?) +\|$/gm,
  ),
].map(([, fault = '', file = '', title = '']) => ({ fault, file, title }));

describe('docs/contribute/first-start-faults.md', () => {
  it('lists tests', () => {
    expect(tests.length).toBeGreaterThan(20);
  });

  it.each(tests)('names a test that exists: $fault', ({ file, title }) => {
    expect(readText(file)).toContain(title);
  });
});
