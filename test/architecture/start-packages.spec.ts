import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readText, root } from './repository-files.js';

interface Entry {
  version?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

interface Lockfile {
  packages: Record<string, Entry>;
}

interface Part {
  manifest: Entry;
  lockfile: Lockfile;
}

const { installedOf, linksOf, partsForStart } = (await import(
  pathToFileURL(join(root, 'scripts/start-packages.mjs')).href
)) as {
  installedOf: (lockfile: Lockfile, paths: string[]) => Lockfile & { requires: boolean };
  linksOf: (lockfile: Lockfile) => Record<string, string>;
  partsForStart: (lockfile: Lockfile, count: number) => Part[];
};

const committed = JSON.parse(readText('package-lock.json')) as Lockfile;
const pathsOf = ({ lockfile }: Part) => Object.keys(lockfile.packages).filter((path) => path !== '');

describe('the packages of a start', () => {
  it('are all that the project and its workspaces need, and no development packages', () => {
    const installed = new Set(partsForStart(committed, 2).flatMap(pathsOf));
    for (const name of ['@nestjs/core', 'vite', '@prisma/client-generator-ts', 'openai', 'viem']) {
      expect(installed).toContain(`node_modules/${name}`);
    }
    for (const name of ['typescript', 'vitest', '@electric-sql/pglite', 'prettier', 'zod']) {
      expect(Object.keys(committed.packages)).toContain(`node_modules/${name}`);
      expect(installed).not.toContain(`node_modules/${name}`);
    }
  });

  it('are the same in one part and in two, of which none has a package of the other', () => {
    const [all] = partsForStart(committed, 1).map(pathsOf);
    const [first = [], second = []] = partsForStart(committed, 2).map(pathsOf);
    expect([...first, ...second].toSorted()).toEqual(all?.toSorted());
    expect(new Set(all).size).toBe(all?.length);
    // npm unpacks what is in the folder of a package together with it.
    const topOf = (path: string) => path.split('/node_modules/')[0] ?? '';
    expect(first.map(topOf).filter((path) => second.map(topOf).includes(path))).toEqual([]);
  });

  it('are named by the package whose folder they are in, as npm asks', () => {
    const packages = {
      '': { dependencies: { a: '1.0.0' }, optionalDependencies: { own: '3.0.0' }, devDependencies: { dev: '1.0.0' } },
      'node_modules/a': {
        version: '1.0.0',
        dependencies: { b: '^2.0.0', alias: '^4.0.0' },
        peerDependencies: { peer: '*', dev: '*' },
        peerDependenciesMeta: { dev: { optional: true } },
      },
      'node_modules/a/node_modules/b': { version: '2.0.0', dependencies: { c: '^1.0.0' } },
      'node_modules/b': { version: '1.0.0', dev: true },
      'node_modules/c': { version: '1.0.0' },
      'node_modules/peer': { version: '5.0.0' },
      'node_modules/dev': { version: '1.0.0' },
      'node_modules/alias': { name: 'real', version: '4.0.0' },
      'node_modules/own': { version: '3.0.0', optional: true, os: [process.platform], integrity: 'sha512-own' },
    };
    const [part] = partsForStart({ packages }, 2);
    expect(part?.manifest).toMatchObject({
      dependencies: { a: '1.0.0', c: '1.0.0', peer: '5.0.0', alias: 'npm:real@4.0.0' },
      optionalDependencies: { own: '3.0.0' },
    });
    const entries = part?.lockfile.packages ?? {};
    expect(Object.keys(entries).toSorted()).toEqual(
      [
        ...['', 'node_modules/a', 'node_modules/a/node_modules/b', 'node_modules/alias', 'node_modules/c'],
        ...['node_modules/own', 'node_modules/peer'],
      ].toSorted(),
    );
    expect(entries['node_modules/a']?.dependencies).toEqual({ b: '2.0.0' });
    expect(entries['node_modules/a/node_modules/b']?.dependencies).toEqual({});
    expect(entries['node_modules/own']).toMatchObject({ optional: true, integrity: 'sha512-own' });
  });

  it.each([
    ['another system', { os: ['another'] }],
    ['all systems but this', { os: [`!${process.platform}`] }],
    ['another processor', { cpu: ['another'] }],
  ])('leave out an optional package for %s, and what only that needs', (_, limits) => {
    const packages = {
      '': { optionalDependencies: { native: '1.0.0', here: '1.0.0' } },
      'node_modules/native': { version: '1.0.0', optional: true, ...limits, dependencies: { loader: '1.0.0' } },
      'node_modules/loader': { version: '1.0.0', optional: true },
      'node_modules/here': { version: '1.0.0', optional: true, os: ['!another'], cpu: [process.arch] },
    };
    expect(partsForStart({ packages }, 1).flatMap(pathsOf)).toEqual(['node_modules/here']);
  });

  it('include those of workspaces, which are links', () => {
    const packages = {
      '': {},
      'tools/own': { dependencies: { c: '1.0.0', sibling: '*' } },
      'node_modules/own': { link: true, resolved: 'tools/own' },
      'tools/sibling': { dependencies: { d: '1.0.0' } },
      'node_modules/sibling': { link: true, resolved: 'tools/sibling' },
      'node_modules/c': { version: '1.0.0' },
      'node_modules/d': { version: '1.0.0' },
    };
    expect(partsForStart({ packages }, 1).flatMap(pathsOf).toSorted()).toEqual(['node_modules/c', 'node_modules/d']);
    expect(linksOf({ packages })).toEqual({
      'node_modules/own': 'tools/own',
      'node_modules/sibling': 'tools/sibling',
    });
    // As in what npm writes about an installation, which does not name the packages that were left out.
    const { packages: installed } = installedOf({ packages }, ['', 'node_modules/c']);
    expect(Object.keys(installed)).toEqual(
      Object.keys(packages).filter((path) => !['', 'node_modules/d'].includes(path)),
    );
  });

  it('are all in folders of the project: npm would install those of a workspace elsewhere', () => {
    const elsewhere = Object.keys(committed.packages).filter((path) =>
      /^(?!node_modules\/).*node_modules\//.test(path),
    );
    expect(elsewhere).toEqual([]);
  });
});
