import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

interface Entry {
  name?: string;
  version?: string;
  resolved?: string;
  link?: boolean;
}

const { withTarballUrls } = (await import(pathToFileURL(join(root, 'scripts/tarball-urls.mjs')).href)) as {
  withTarballUrls: (lockfile: { packages: Record<string, Entry> }, registry: string) => typeof lockfile;
};

/** Adds addresses to one entry of a lockfile; returns its own. */
const urlOf = (path: string, entry: Entry, registry = 'https://packages.example.com/npm') =>
  withTarballUrls({ packages: { [path]: entry } }, registry).packages[path]?.resolved;

describe('addresses of tarballs', () => {
  it.each([
    ['node_modules/koffi', { version: '2.1.0' }, 'koffi/-/koffi-2.1.0.tgz'],
    ['node_modules/@nestjs/core', { version: '12.5.1' }, '@nestjs/core/-/core-12.5.1.tgz'],
    ['node_modules/a/node_modules/@b/c', { version: '1.0.0-rc.1' }, '@b/c/-/c-1.0.0-rc.1.tgz'],
    ['node_modules/alias', { name: '@b/c', version: '1.0.0' }, '@b/c/-/c-1.0.0.tgz'],
  ])('follow from name and version: %s', (path, entry, expected) => {
    expect(urlOf(path, entry)).toBe(`https://packages.example.com/npm/${expected}`);
    expect(urlOf(path, entry, 'https://packages.example.com/npm/')).toBe(
      `https://packages.example.com/npm/${expected}`,
    );
  });

  it('are left out for the project, workspaces and links, and kept where there is one', () => {
    expect(urlOf('', { version: '0.1.0' })).toBeUndefined();
    expect(urlOf('examples', {})).toBeUndefined();
    expect(urlOf('node_modules/examples', { link: true, resolved: 'examples' })).toBe('examples');
    expect(urlOf('node_modules/a', { version: '1.0.0', resolved: 'file:a.tgz' })).toBe('file:a.tgz');
  });
});
