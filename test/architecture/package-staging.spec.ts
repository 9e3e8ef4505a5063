import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

/* The tarball of the npm package, where it differs from a clone. */

interface Staging {
  stagePackage: (options: { root: string; files: string[]; folder: string }) => Promise<string[]>;
  undeclaredImports: (folder: string) => string[];
}

const staging = (await import(pathToFileURL(join(root, 'scripts/package-staging.mjs')).href)) as Staging;
const client = 'dist/libs/platform/src/prisma/generated/client.js';
const hex = 'dist/libs/accounts/src/hex.js';
const other = 'dist/libs/media/src/other.js';
const wasmModule = '@prisma/client/runtime/query_compiler_small_bg.postgresql.wasm-base64.mjs';

interface PackageJson {
  scripts?: object;
  devDependencies?: object;
  workspaces?: object;
  imports: Record<string, string>;
  dependencies: Record<string, string>;
}

interface LockedPackage {
  version?: string;
  integrity?: string;
  resolved?: string;
  dev?: boolean;
}

/** Entries of a lockfile, by path. */
async function packagesOf(path: string): Promise<Record<string, LockedPackage>> {
  return (JSON.parse(await readFile(path, 'utf8')) as { packages: Record<string, LockedPackage> }).packages;
}

describe('the staged package', () => {
  let folder: string;
  let staged: string;
  let files: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice staging '));
    staged = join(folder, 'staged');
    const sources = {
      'package.json': await readFile(join(root, 'package.json'), 'utf8'),
      [client]: `import * as runtime from "@prisma/client/runtime/client";
const text = 'import from "nowhere"';
export const isLoaded = runtime.Decimal !== undefined;
export const loadWasm = async () => await import("${wasmModule}");
`,
      [hex]: `import { isHex } from 'viem/utils';
export const answers = [isHex('0x1f'), isHex('1f')];
export const load = async () => (await import('viem')).hexToNumber('0x10');
`,
      [other]: "import sharp from 'sharp';\nimport { readFile } from 'node:fs/promises';\nimport '#common';\n",
    };
    for (const [path, text] of Object.entries(sources)) {
      await mkdir(dirname(join(folder, 'clone', path)), { recursive: true });
      await writeFile(join(folder, 'clone', path), text);
    }
    await cp(join(root, 'package-lock.json'), join(folder, 'clone', 'package-lock.json'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'clone', 'node_modules'));
    files = await staging.stagePackage({ root: join(folder, 'clone'), files: Object.keys(sources), folder: staged });
    symlinkSync(join(root, 'node_modules'), join(staged, 'node_modules'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Evaluates an expression with the exports of a staged module, in a Node of its own: the bundles are for Node. */
  function evaluate(path: string, expression: string): unknown {
    const program = `const it = await import(${JSON.stringify(pathToFileURL(join(staged, path)).href)});
      console.log(JSON.stringify(${expression}));`;
    const words = ['--input-type=module', '--eval', program];
    return JSON.parse(execFileSync(process.execPath, words, { cwd: staged, encoding: 'utf8' }));
  }

  const read = (path: string) => readFile(join(staged, path), 'utf8');

  it('brings the files of Prisma that the generated client loads, and no others', async () => {
    expect(files.filter((path) => path.startsWith('dist/vendor/prisma-client/')).toSorted()).toEqual([
      'dist/vendor/prisma-client/LICENSE',
      'dist/vendor/prisma-client/client.mjs',
      'dist/vendor/prisma-client/query_compiler_small_bg.postgresql.wasm',
      'dist/vendor/prisma-client/query_compiler_small_bg.postgresql.wasm-base64.mjs',
    ]);
    expect(await read(client)).toContain('from "../../../../../vendor/prisma-client/client.mjs"');
    expect(evaluate(client, 'it.isLoaded')).toBe(true);
    const isSame = `(await it.loadWasm()).wasm === (await import('${wasmModule}')).wasm`;
    expect(evaluate(client, isSame)).toBe(true);
  });

  it('brings bundles that do what their packages do, with all licenses', async () => {
    expect(await read(hex)).toContain("from '../../../vendor/packages/viem-utils.js'");
    expect(evaluate(hex, '[...it.answers, await it.load()]')).toEqual([true, false, 16]);
    const licenses = await read('dist/vendor/packages/LICENSES.txt');
    expect(licenses).toMatch(/^viem \d+\.\d+/m);
    expect(licenses).toMatch(/^ox \d+\.\d+/m);
    for (const path of files) expect(existsSync(join(staged, path)), path).toBe(true);
  });

  it('leaves other files as they are', async () => {
    expect(await read(other)).toBe(await readFile(join(folder, 'clone', other), 'utf8'));
  });

  it('needs what it imports, and neither what it brings nor the tools of a clone', async () => {
    const { scripts, devDependencies, workspaces, imports, dependencies } = JSON.parse(
      await read('package.json'),
    ) as PackageJson;
    expect({ scripts, devDependencies, workspaces }).toEqual({});
    expect(Object.keys(dependencies)).toEqual(expect.arrayContaining(['@prisma/client-runtime-utils', 'sharp']));
    for (const name of ['@prisma/client', 'viem', 'openai']) expect(Object.keys(dependencies)).not.toContain(name);
    expect(imports['#common']).toBe('./dist/libs/common/src/index.js');
    expect(Object.keys(imports)).not.toContain('#test/*');
    expect(staging.undeclaredImports(staged)).toEqual([]);
  });

  it('pins what an installation brings to the versions of the lockfile, with an address for each', async () => {
    const own = await packagesOf(join(staged, 'npm-shrinkwrap.json'));
    const locked = await packagesOf(join(root, 'package-lock.json'));
    const paths = Object.keys(own).filter((path) => path !== '');
    const others = paths.filter((path) => own[path]?.version !== locked[path]?.version || !own[path]?.integrity);
    expect(others).toEqual([]);
    expect(paths.filter((path) => own[path]?.resolved?.startsWith('https://') !== true)).toEqual([]);
    expect(paths.filter((path) => own[path]?.dev)).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining(['node_modules/sharp', 'node_modules/@prisma/client-runtime-utils']));
    for (const name of ['viem', '@prisma/client', 'openai', 'vitest'])
      expect(paths).not.toContain(`node_modules/${name}`);
    expect(files).not.toContain('package-lock.json');
  });

  it('is checked: an import of a package that would not be installed is found', async () => {
    const path = 'dist/libs/media/src/lost.js';
    const lines = ["import OpenAI from 'openai';", "const a = import('@scope/lost/deep.js');", "load('viem/utils');"];
    await writeFile(join(staged, path), `${lines.join('\n')}\n`);
    expect(staging.undeclaredImports(staged)).toEqual(
      ['openai', '@scope/lost', 'viem'].map((name) => `${path} imports ${name}, which is no dependency.`),
    );
    await rm(join(staged, path));
  });
});
