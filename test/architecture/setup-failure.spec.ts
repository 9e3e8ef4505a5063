import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

/* Failures of `npm ci` in a clone that no test can cause. The others: test/e2e/bad-clone-start.e2e-spec.ts. */

const { describeInstallFailure, describeSetupFailure } = (await import(
  pathToFileURL(join(root, 'scripts/setup-failure.mjs')).href
)) as {
  describeInstallFailure: (failure: {
    stderr: string;
    signal: string | null;
    folder: string;
    environment?: Record<string, string>;
  }) => string | null;
  describeSetupFailure: (error: unknown) => string;
};

const describeStderr = (stderr: string, signal: string | null = null) =>
  describeInstallFailure({ stderr, signal, folder: '/srv/sluice', environment: {} });

describe('npm start in a clone', () => {
  it.each([
    ['CERT_NOT_YET_VALID', /The clock of this machine says \d{4}-.* UTC: correct it if that is wrong/],
    ['CERT_HAS_EXPIRED', /The clock of this machine says \d{4}-.* UTC: correct it if that is wrong/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /Name the file of its authority in NODE_EXTRA_CA_CERTS/],
  ])('says what to do about a certificate: %s', (code, advice) => {
    const sentence = describeStderr(`npm error code ${code}\nnpm error errno ${code}\n`);
    expect(sentence).toMatch(advice);
    expect(sentence).not.toContain('\n');
  });

  it('says that npm was killed, and why', () => {
    expect(describeStderr('', 'SIGKILL')).toMatch(/1 GB of memory: give this machine or container more/);
  });

  it('reads what npm 9 writes too', () => {
    expect(describeStderr('npm ERR! code ENOSPC\nnpm ERR! path /srv/sluice/node_modules/a\n')).toMatch(
      /^The disk of \/srv\/sluice\/node_modules\/a is full/,
    );
  });

  it('leaves what it does not know to npm', () => {
    expect(describeStderr('npm error code EINTEGRITY\n')).toBeNull();
    expect(describeStderr('something else')).toBeNull();
  });

  it('says what to do about a build that cannot be written', () => {
    const error = Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS', path: '/srv/sluice/dist' });
    expect(describeSetupFailure(error)).toMatch(/^\/srv\/sluice\/dist is on a read-only file system/);
    expect(describeSetupFailure(new Error('The sources do not compile.'))).toBe('The sources do not compile.');
  });
});
