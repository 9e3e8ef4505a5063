import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText, root } from './repository-files.js';

/* The npm package: what `npm pack` puts into it, and what its program says where something is missing. */

interface Contents {
  offencesOf: (paths: string[], options?: { isBuilt?: boolean }) => string[];
  maxTarballBytes: number;
}

const contents = (await import(pathToFileURL(join(root, 'scripts/package-contents.mjs')).href)) as Contents;
const builtFiles = [
  'dist/.built',
  'dist/.tsbuildinfo',
  ...['api', 'cli', 'local', 'ops', 'worker'].map((app) => `dist/apps/${app}/src/main.js`),
  'dist/apps/api/src/main.js.map',
  'dist/.console-built',
  'dist/console/index.html',
  'dist/console/assets/index-B-_1m7h8.js',
  'dist/console/assets/index-sqWchEjM.css',
  'dist/console/assets/icon-CuejIUL9.svg',
  'dist/libs/platform/src/prisma/generated/client.js',
  'dist/libs/inference/src/host/model-host.main.js',
  'dist/libs/inference/src/scheduler/fake-graph-session.js',
  'dist/libs/queue/src/transport.conformance.js',
  'dist/libs/web/src/search/__fixtures__/responses.js',
  'dist/test/harness/platform.js',
  'dist/bench/text.js',
];
let folder: string;
let files: { path: string; size: number }[];

/** Writes a file of one line, and the folders that it needs. */
async function place(path: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), '\n');
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-pack-'));
  const copied = [
    'package.json',
    'README.md',
    'LICENSE',
    'NOTICE',
    'CHANGELOG.md',
    'bin',
    'models',
    'prisma',
    '.npmrc',
  ];
  for (const path of copied) await cp(join(root, path), join(folder, path), { recursive: true });
  const images = ['docs/images/node.png', 'docs/images/console/overview-desktop-light.webp'];
  const others = ['npm-shrinkwrap.json', 'apps/api/src/main.ts', 'scripts/start.mjs'];
  for (const path of [...builtFiles, ...images, ...others]) await place(path);
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: folder,
    shell: process.platform === 'win32',
  });
  const parsed = JSON.parse(stdout) as { files: typeof files }[] | Record<string, { files: typeof files }>;
  files = Object.values(parsed)[0]?.files ?? [];
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the npm package', () => {
  const paths = () => files.map(({ path }) => path);

  it('contains what runs, and no test, source, source map or image', () => {
    expect(contents.offencesOf(paths())).toEqual([]);
  });

  it('contains the pages of the console, and nothing else of it', () => {
    const pages = paths().filter((path) => /^(apps|dist)\/\.?console/.test(path));
    expect(pages).toEqual(builtFiles.filter((path) => path.startsWith('dist/console/')).toSorted());
  });

  it('contains every model, manifest and migration', () => {
    expect(paths().filter((path) => /^models\/[^/]+\.yaml$/.test(path)).length).toBeGreaterThan(15);
    expect(paths().filter((path) => /^prisma\/migrations\/.*\.sql$/.test(path)).length).toBeGreaterThan(5);
  });

  it('is checked: what does not belong into it, and what is missing, is found', () => {
    const extra = [
      'docs/images/node.png',
      'docs/images/console/overview-desktop-light.webp',
      'apps/console/index.html',
      'dist/libs/a.spec.js',
      'dist/apps/api/src/main.js.map',
      'scripts/start.mjs',
    ];
    const offences = contents.offencesOf([...paths(), ...extra]);
    for (const path of extra) expect(offences.join('\n')).toContain(path);
    expect(contents.offencesOf(paths().filter((path) => path !== 'bin/require-node.mjs'))).toEqual([
      'bin/require-node.mjs is missing.',
    ]);
  });

  it('may be published: nothing keeps it private', () => {
    const { private: isPrivate, name } = JSON.parse(readText('package.json')) as { private?: boolean; name: string };
    expect(isPrivate).toBeUndefined();
    expect(name).toBe('sluice');
  });
});

describe('the program of the package', () => {
  const run = (bin: string, ...args: string[]) => spawnSync(process.execPath, [bin, ...args], { encoding: 'utf8' });

  it('says that it was packed without a build', async () => {
    await mkdir(join(folder, 'unbuilt'));
    await cp(join(root, 'bin'), join(folder, 'unbuilt', 'bin'), { recursive: true });
    expect(existsSync(join(folder, 'unbuilt', 'dist'))).toBe(false);
    for (const command of ['start', 'doctor']) {
      const { status, stderr } = run(join(folder, 'unbuilt', 'bin', 'sluice.mjs'), command);
      expect(stderr).toContain('packed without `npm run package`');
      expect(status).toBe(1);
    }
  });

  it('starts what is built, without a word about npm', async () => {
    const { status, stderr } = run(join(folder, 'bin', 'sluice.mjs'), 'start');
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  it('explains `start`, and refuses arguments of it', () => {
    const bin = join(root, 'bin', 'sluice.mjs');
    expect(run(bin, 'start', '--help').stdout).toContain('Usage: sluice start');
    const refused = run(bin, 'start', '--port', '80');
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain('takes no arguments, not "--port 80"');
  });
});
