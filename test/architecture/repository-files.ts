import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** Every file of the repository: tracked, or new and not ignored, without deleted ones. */
export const repositoryFiles: readonly string[] = listFiles();

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** TypeScript of production code and tests. */
export const sources = repositoryFiles.filter((path) => /^(apps|libs|test|bench)\/.*\.tsx?$/.test(path));

const testFile =
  /(^(test|bench)\/|\.(spec|int-spec|e2e-spec|models-spec|nightly-spec|chains-spec|clients-spec|console-spec|conformance)\.ts$|\/__fixtures__\/)/;

/** TypeScript of production code. */
export const productSources = sources.filter((path) => !testFile.test(path));

function listFiles(): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, 'ls-files', '-z', ...args], { encoding: 'utf8' })
      .split('\0')
      .filter(Boolean);
  const deleted = new Set(git('--deleted'));
  return git('--cached', '--others', '--exclude-standard').filter((path) => !deleted.has(path));
}
