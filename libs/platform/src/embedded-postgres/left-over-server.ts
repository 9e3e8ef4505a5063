import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isProcessAlive } from '#common';

/**
 * Deals with `postmaster.pid` of a run that was killed. A server that still runs is stopped: whoever calls this holds
 * the folder, so it belongs to nobody. A file whose process is gone, or is somebody else by now, is removed. Rejects when
 * the server does not stop, or may not be stopped from here.
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
  const isId = Number.isSafeInteger(pid) && pid > 1;
  if (isId && isProcessAlive(pid)) {
    const isOurs = (await servesFolder(pid, dataFolder)) ?? (await respondsAsOurs({ port, user, password }));
    if (isOurs) await stopServer(pid);
  }
  await rm(file, { force: true });
}

/**
 * Whether a process is a server of this folder: it works in it from its first moment to its last. Null where the system
 * does not say: not Linux, or another user's process. The folder is compared by what it is, not by its name.
 */
async function servesFolder(pid: number, dataFolder: string): Promise<boolean | null> {
  try {
    const [name, place, folder] = await Promise.all([
      readFile(`/proc/${pid}/comm`, 'utf8'),
      stat(`/proc/${pid}/cwd`),
      stat(dataFolder),
    ]);
    return name.trim() === 'postgres' && place.dev === folder.dev && place.ino === folder.ino;
  } catch {
    return null;
  }
}

/** Said before a server looks at who asks: it starts or stops, or has no connection left. */
const busy = new Set(['57P03', '53300']);

/** Only the server of this very folder knows this password; one that is too busy to ask for it counts as it. */
export async function respondsAsOurs(login: { port: number; user: string; password: string }): Promise<boolean> {
  const client = new pg.Client({ ...login, host: '127.0.0.1', database: 'postgres', connectionTimeoutMillis: 2_000 });
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
    if (!isProcessAlive(pid)) return;
    const message = `A left-over PostgreSQL (process ${pid}) belongs to another user: stop it first.`;
    throw new Error(message, { cause: error });
  }
  for (let waitedMs = 0; isProcessAlive(pid); waitedMs += 50) {
    if (waitedMs >= 15_000) throw new Error(`A left-over PostgreSQL (process ${pid}) does not stop.`);
    await sleep(50);
  }
}
