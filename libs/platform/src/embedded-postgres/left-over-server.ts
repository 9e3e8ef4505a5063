import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { processState, StartRefusal } from '../process/index.js';

/**
 * Handles `postmaster.pid` of a run that was killed. Stops a server that still runs, because the caller holds the
 * folder's lock. Removes a file whose process is gone or unrelated. Rejects if the server does not stop or may not be
 * stopped.
 */
export async function clearLeftOverServer(dataFolder: string, user: string, password: string): Promise<void> {
  const file = join(dataFolder, 'postmaster.pid');
  const lines = await readFile(file, 'utf8').then(
    (text) => text.split('\n'),
    () => null,
  );
  if (lines === null) return;
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (pid > 1 && (await isRunning(pid))) {
    const isOurs = (await servesFolder(pid, dataFolder)) ?? (await acceptsOurPassword({ port, user, password }));
    if (isOurs) await stopServer(pid);
  }
  await rm(file, { force: true });
}

/**
 * True when a process is a server of this folder, which is its working directory. Null when the system does not tell:
 * not Linux, or another user's process. Compares folders by inode, not by name.
 */
async function servesFolder(pid: number, dataFolder: string): Promise<boolean | null> {
  try {
    const [name, workingDirectory, folder] = await Promise.all([
      readFile(`/proc/${pid}/comm`, 'utf8'),
      stat(`/proc/${pid}/cwd`),
      stat(dataFolder),
    ]);
    return name.trim() === 'postgres' && workingDirectory.dev === folder.dev && workingDirectory.ino === folder.ino;
  } catch {
    return null;
  }
}

/** Errors sent before authentication: the server starts, stops, or has no free connection. */
const busy = new Set(['57P03', '53300']);

/** Only the server of this folder knows this password. A server too busy to ask for it counts as ours. */
export async function acceptsOurPassword(login: { port: number; user: string; password: string }): Promise<boolean> {
  const server = { host: '127.0.0.1', database: 'postgres', ssl: false };
  const client = new pg.Client({ ...login, ...server, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    return busy.has((error as { code?: string }).code ?? '');
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function stopServer(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGINT');
  } catch (error) {
    if (!(await isRunning(pid))) return;
    const message = `The PostgreSQL of an earlier run (process ${pid}) belongs to another user: stop it as that user.`;
    throw new StartRefusal(message, { cause: error });
  }
  for (let waitedMs = 0; await isRunning(pid); waitedMs += 50) {
    if (waitedMs >= 15_000)
      throw new StartRefusal(`The PostgreSQL of an earlier run (process ${pid}) does not stop: kill it.`);
    await sleep(50);
  }
}

/** False for a zombie, too: in a container, nobody may wait for a server whose parent was killed. */
async function isRunning(pid: number): Promise<boolean> {
  return (await processState({ pid })) !== 'gone';
}
