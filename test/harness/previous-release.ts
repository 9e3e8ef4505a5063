import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, symlinkSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const git = (...words: string[]) => execFileSync('git', ['-C', root, ...words], { encoding: 'utf8' }).trim();

/** Translates everything that a platform of tests runs, as `npm start` does. */
const build = `
  import { readdirSync } from 'node:fs';
  import { join } from 'node:path';
  const { openTranslator } = await import('./scripts/build.mjs');
  // Of this commit: the packages are too.
  const { generatePrismaClient } = await import(process.argv[1]);
  generatePrismaClient({ force: true, folder: process.cwd() });
  const translate = await openTranslator(process.cwd());
  for (const folder of ['libs', 'apps', 'test/harness']) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || path.startsWith(join('apps', 'console'))) continue;
      if (!entry.name.endsWith('.ts') || /(\\.d|spec)\\.ts$/.test(entry.name)) continue;
      const errors = translate(path);
      if (errors.length > 0) throw new Error(path + ': ' + errors.join(' '));
    }
  }
`;

/**
 * The commit that tests call the previous release: the last one without the newest migration. `SLUICE_TEST_PREVIOUS`
 * names another. Null: this is no clone with its history.
 */
export function previousCommit(): string | null {
  const named = process.env.SLUICE_TEST_PREVIOUS;
  if (named !== undefined) return named;
  const migrations = readdirSync(join(root, 'prisma', 'migrations'), { withFileTypes: true });
  const newest = migrations.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  try {
    const added = git('log', '-1', '--format=%H', '--diff-filter=A', '--', `prisma/migrations/${newest.sort().at(-1)}`);
    return added === '' ? null : git('rev-parse', '--verify', `${added}^`);
  } catch {
    return null;
  }
}

/** Compiles a commit in a new folder, with the packages of this one; returns its folder of compiled code. */
export async function buildCommit(commit: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const archive = execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 1 << 30 });
  execFileSync('tar', ['x', '-C', folder], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const generator = pathToFileURL(join(root, 'scripts', 'generate-prisma.mjs')).href;
  const words = ['--input-type=module', '--eval', build, generator];
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${commit} does not build:\n${stderr}`);
  return join(folder, 'dist');
}
