import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readText, root } from './repository-files.js';

/* The refusal of every command on a version of Node that is too old, before anything newer than its syntax is read. */

const { requireNode } = (await import(pathToFileURL(join(root, 'bin/require-node.mjs')).href)) as {
  requireNode: (version?: string) => void;
};

let said: unknown[];

beforeEach(() => {
  said = [];
  vi.spyOn(console, 'error').mockImplementation((text) => void said.push(text));
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`);
  });
});
afterEach(() => vi.restoreAllMocks());

describe('requireNode', () => {
  it.each(['16.20.2', '18.20.8', '20.18.3', '21.7.3', '22.11.0', '23.11.1'])(
    'refuses Node %s in one sentence',
    (version) => {
      expect(() => requireNode(version)).toThrow('exit 1');
      expect(said).toEqual([
        `Sluice needs Node 20.19, 22.12, 24 or newer; this is ${version}. Install one of them, such as with: nvm install 24`,
      ]);
    },
  );

  it.each(['20.19.0', '22.12.0', '24.0.0', '26.3.1'])('accepts Node %s', (version) => {
    requireNode(version);
    expect(said).toEqual([]);
  });

  it('agrees with what package.json tells npm', () => {
    const { engines } = JSON.parse(readText('package.json')) as { engines: { node: string } };
    expect(engines.node).toBe('^20.19.0 || ^22.12.0 || >=24.0.0');
  });

  it.each([
    'bin/sluice.mjs',
    'bin/require-node.mjs',
    'bin/trim-runtime.mjs',
    'scripts/start.mjs',
    'scripts/prepare-start.mjs',
    'scripts/install-for-start.mjs',
    'scripts/locked-name.mjs',
    'scripts/setup-failure.mjs',
    'scripts/start-packages.mjs',
    'scripts/steps.mjs',
    'scripts/tarball-urls.mjs',
    'scripts/test-report.mjs',
  ])('runs in %s before anything else is loaded', (path) => {
    // Static imports are read before any line runs: only Node's own modules and those that old versions can read.
    const names = [...readText(path).matchAll(/^import .* from '(.+)';$/gm)].map(([, name]) => name);
    const known = [
      './require-node.mjs',
      './trim-runtime.mjs',
      './prepare-start.mjs',
      './install-for-start.mjs',
      './locked-name.mjs',
      './setup-failure.mjs',
      './start-packages.mjs',
      './steps.mjs',
      './tarball-urls.mjs',
      './test-report.mjs',
      '../bin/require-node.mjs',
      '../bin/trim-runtime.mjs',
    ];
    expect(names.filter((name) => !name?.startsWith('node:') && !known.includes(name ?? ''))).toEqual([]);
  });
});
