import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startCommand, StartRefusal } from '../process/index.js';
import { adoptFolder } from './folder-rights.js';
import type { PostgresBinaries, ServerIdentity } from './postgres-binaries.js';
import { failureReason, saysDiskFull, workingFolder } from './server-output.js';

const passwordFile = 'sluice.password';
export const superuser = 'sluice';

/** Rules of who may connect, in the data folder: those of initdb, and one for other machines. */
export const remoteRulesFile = 'remote_hba.conf';

/**
 * Builds the spawn options of a program for a data folder. As root on Linux, the folder may be below one that `nobody`
 * cannot enter (`/root`). The working directory is set before the identity is dropped, and `/proc/self/cwd` names it
 * without path traversal.
 */
export function spawnOptionsFor(
  dataFolder: string,
  identity: ServerIdentity | null,
): { cwd: string; dataArgument: string; identity: Partial<ServerIdentity> } {
  const throughCwd = identity !== null && process.platform === 'linux';
  return { cwd: dataFolder, dataArgument: throughCwd ? workingFolder : dataFolder, identity: identity ?? {} };
}

/** Environment of PostgreSQL's programs: nothing of this process's, whose `PG…` variables are about other servers. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { ...(process.platform === 'win32' ? { SYSTEMROOT: 'C:\\Windows' } : {}), LC_ALL: 'C', TZ: 'UTC' };
}

/** Returns the superuser's password of a data folder. Initializes a new folder first. */
export async function openDataFolder(
  dataFolder: string,
  binaries: PostgresBinaries,
  identity: ServerIdentity | null,
): Promise<string> {
  if (await isFile(join(dataFolder, 'PG_VERSION'))) {
    await adoptFolder(dataFolder, identity);
    return (await readFile(join(dataFolder, passwordFile), 'utf8')).trim();
  }
  const password = randomBytes(24).toString('base64url');
  await initialize(dataFolder, password, binaries, identity);
  return password;
}

/** Lets roles whose names begin with `rolePrefix` connect from anywhere, by password, where the server listens. */
export async function writeRemoteRules(
  dataFolder: string,
  rolePrefix: string,
  identity: ServerIdentity | null,
): Promise<void> {
  const path = join(dataFolder, remoteRulesFile);
  await writeFile(path, `include pg_hba.conf\nhost all "/^${rolePrefix}" all scram-sha-256\n`, { mode: 0o600 });
  if (identity) await chown(path, identity.uid, identity.gid);
}

/**
 * Initializes in a sibling folder and renames it at the end, so that an interrupted initdb leaves no half-initialized
 * folder.
 */
async function initialize(
  dataFolder: string,
  password: string,
  binaries: PostgresBinaries,
  identity: ServerIdentity | null,
): Promise<void> {
  if (await hasEntries(dataFolder)) {
    throw new StartRefusal(
      `The folder ${dataFolder} is not empty and holds no PostgreSQL data. Move its content elsewhere, or use another ` +
        `home: SLUICE_HOME=… ${startCommand}`,
    );
  }
  const partial = `${dataFolder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(dirname(dataFolder), { recursive: true });
  await mkdir(partial, { mode: 0o700 });
  await adoptFolder(partial, identity);
  const passwordPath = `${partial}.password`;
  await writeFile(passwordPath, `${password}\n`, { mode: 0o600 });
  if (identity) await chown(passwordPath, identity.uid, identity.gid);
  try {
    await runInitdb(partial, passwordPath, binaries, identity);
  } catch (error) {
    // A half-made database would keep the disk full.
    await rm(partial, { recursive: true, force: true });
    await rm(passwordPath, { force: true });
    throw error;
  }
  await rename(passwordPath, join(partial, passwordFile));
  await rm(dataFolder, { recursive: true, force: true });
  await rename(partial, dataFolder);
}

async function runInitdb(
  folder: string,
  passwordPath: string,
  binaries: PostgresBinaries,
  identity: ServerIdentity | null,
): Promise<void> {
  const spawnOptions = spawnOptionsFor(folder, identity);
  const password = await open(passwordPath);
  const options = [
    ['--pgdata', spawnOptions.dataArgument],
    ['--username', superuser],
    ['--auth', 'scram-sha-256'],
    // Like the data folder, the password file may be inaccessible by path to the server's identity, so its descriptor
    // is passed.
    ['--pwfile', identity ? '/dev/stdin' : passwordPath],
    ['--encoding', 'UTF8'],
    ['--locale-provider', 'builtin'],
    ['--builtin-locale', 'C.UTF-8'],
  ].map(([name, value]) => `${name}=${value}`);
  const child = spawn(binaries.initdb, [...options, '--no-locale', '--no-sync', '--no-instructions'], {
    cwd: spawnOptions.cwd,
    ...spawnOptions.identity,
    stdio: [password.fd, 'ignore', 'pipe'],
    env: serverEnvironment(),
  });
  let errorOutput = '';
  child.stderr?.on('data', (chunk: Buffer) => (errorOutput += chunk.toString()));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => reject(programRefusal(binaries.initdb, error)));
    child.once('close', resolve);
  });
  const code = await closing(password, ended);
  if (code !== 0) throw initdbRefusal(errorOutput, folder);
}

/** Says what to do about the failures of initdb that are known. */
function initdbRefusal(output: string, folder: string): StartRefusal {
  const [, uid] = /could not look up effective user ID (\d{1,10})/.exec(output) ?? [];
  if (uid !== undefined) {
    return new StartRefusal(
      `PostgreSQL creates no database for user id ${uid}, which has no name here. Add a line for it to /etc/passwd ` +
        `(sluice:x:${uid}:0::/:/bin/false), run as a user that has one, or set DATABASE_URL to a server of your own.`,
    );
  }
  if (saysDiskFull(output)) return fullDisk(folder);
  return new StartRefusal(`The database cannot be created in ${folder}: ${failureReason(output.split('\n'), folder)}`);
}

/** A refusal for a data folder whose disk has no room for what the server writes when it starts. */
export function fullDisk(folder: string): StartRefusal {
  return new StartRefusal(
    `The disk of ${folder} is full. A new database takes about 100 MB: free some space, or use another home: ` +
      `SLUICE_HOME=… ${startCommand}`,
  );
}

/** The program itself cannot be run: it is for another C library, or its file system allows no programs. */
export function programRefusal(program: string, error: Error): StartRefusal {
  return new StartRefusal(
    `PostgreSQL does not run on this system (${program}: ${error.message}). Set DATABASE_URL to a server of your own.`,
    { cause: error },
  );
}

async function closing<T>(file: FileHandle, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await file.close();
  }
}

async function hasEntries(folder: string): Promise<boolean> {
  return readdir(folder).then(
    (entries) => entries.length > 0,
    () => false,
  );
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}
