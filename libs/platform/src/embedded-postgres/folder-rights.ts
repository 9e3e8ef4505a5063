import { chmod, chown, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startCommand, StartRefusal } from '../process/index.js';
import type { ServerIdentity } from './postgres-binaries.js';

/** Rights that PostgreSQL refuses: writing by the group, and any of others. */
const refusedRights = 0o027;

/**
 * Gives the data folder the owner and the rights that PostgreSQL demands: a home that root and another user take turns
 * to use has another owner, a volume the rights of its system. Throws a `StartRefusal` where this process may not.
 */
export async function adoptFolder(folder: string, identity: ServerIdentity | null): Promise<void> {
  const uid = identity?.uid ?? process.geteuid?.();
  if (uid === undefined) return;
  if ((await stat(folder)).uid !== uid) {
    if (identity === null) throw otherOwner(folder, (await stat(folder)).uid, uid);
    await chownTree(folder, identity);
  }
  if (!(await hasRefusedRights(folder))) return;
  await chmod(folder, 0o700).catch(() => undefined);
  // Some file systems accept the change and keep their rights.
  if (await hasRefusedRights(folder)) throw wrongRights(folder, (await stat(folder)).mode);
}

async function hasRefusedRights(folder: string): Promise<boolean> {
  return ((await stat(folder)).mode & refusedRights) !== 0;
}

function otherOwner(folder: string, owner: number, uid: number): StartRefusal {
  return new StartRefusal(
    `The database folder ${folder} belongs to user ${owner}, but Sluice runs as user ${uid}. ` +
      `Run it as user ${owner}, or as root: chown -R ${uid} '${folder}'`,
  );
}

function wrongRights(folder: string, mode: number): StartRefusal {
  const rights = (mode & 0o7777).toString(8).padStart(4, '0');
  return new StartRefusal(
    `PostgreSQL refuses the rights ${rights} of the database folder ${folder}. Run: chmod 0700 '${folder}' – or, if its ` +
      `file system keeps no rights, use a home on another one: SLUICE_HOME=… ${startCommand}`,
  );
}

async function chownTree(path: string, identity: ServerIdentity): Promise<void> {
  const entry = await lstat(path);
  if (entry.isDirectory()) {
    for (const name of await readdir(path)) await chownTree(join(path, name), identity);
  }
  if (!entry.isSymbolicLink()) await chown(path, identity.uid, identity.gid);
}
