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

/** Tests that hold what Sluice says and does at a first start, by file: each fault with the title of its test. */
const tests: Record<string, [fault: string, title: string][]> = {
  'test/architecture/supported-node.spec.ts': [['old Node', 'refuses Node %s in one sentence']],
  'test/e2e/bad-clone-start.e2e-spec.ts': [
    ['registry unreachable', 'a registry that does not answer'],
    ['registry wants a login', 'a registry that wants a login (%i)'],
    ['proxy variable', 'a proxy that does not answer'],
    ['disk full', 'that fills up'],
    ['read-only file system', 'that is read-only'],
    ['folder not writable', 'a folder that the user may not write'],
    ['ended while it installs', 'to go on when it is asked to end, and leaves no npm behind'],
  ],
  'test/architecture/setup-failure.spec.ts': [
    ['clock, authority unknown', 'says what to do about a certificate: %s'],
    ['little memory', 'says that npm was killed, and why'],
  ],
  'test/e2e/bad-local-start.nightly-spec.ts': [
    ['port taken', 'a taken port'],
    ['home not writable', 'a home that the user may not write'],
    ['read-only root', 'that is read-only, as the root of many containers'],
    ['disk full', 'that is full'],
    ['little memory', 'an emptied secret key in a container with little memory, and says both'],
    ['IPv6 only', 'that has IPv6 only, on its loopback interface too, with HOST=%s'],
  ],
  'apps/local/src/local.e2e-spec.ts': [
    [
      'path with blanks, two starts, a stale lock',
      'refuses a home in use and a taken port, and leaves no process behind when it is killed',
    ],
  ],
  'apps/local/src/home-lock.spec.ts': [
    ['lock dated in the future', 'opens a lock of a killed process that is dated in the future'],
  ],
  'apps/local/src/first-start.nightly-spec.ts': [
    ['umask 077', 'serves under umask 077, and lets nobody else read its home'],
    [
      'registry unreachable',
      'serves without a registry, says why no model comes, and goes on with it at the next start',
    ],
    ['disk full while pulling', 'and has no room for a model: says how much it takes, and serves the rest'],
    [
      'disk full while serving',
      'and fills up while it serves: fails requests instead of losing them, and goes on when there is room',
    ],
  ],
  'libs/platform/src/embedded-postgres/postgres-binaries.int-spec.ts': [
    ['packages installed under umask 077', 'makes programs that another user can run, whatever the umask'],
  ],
  'libs/model-store/src/source/npm-registry.spec.ts': [
    ['registry wants a login', 'that asks for a login (%i): log in, or write a token into .npmrc'],
    ['clock far off', 'whose certificate is not valid now, since %s'],
  ],
  'libs/model-store/src/source/pull-error.spec.ts': [
    ['proxy variable', 'names the proxy that does not answer, without its password, and how to avoid it'],
  ],
};

describe('the tests of a first start', () => {
  const titles = Object.entries(tests).flatMap(([file, faults]) =>
    faults.map(([fault, title]) => ({ fault, file, title })),
  );

  it.each(titles)('exist: $fault', ({ file, title }) => {
    expect(readText(file)).toContain(title);
  });
});
