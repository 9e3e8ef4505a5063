import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isProcessAlive } from '#common';

/**
 * Deals with `postmaster.pid` of a run that was killed. A server that still runs is stopped: whoever calls this holds
 * the folder, so it belongs to nobody. A file whose process is gone, or is somebody else by now, is removed.
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
  if (isId && isProcessAlive(pid) && ((await answers(port, user, password)) || (await isPostgres(pid))))
    await stopServer(pid);
  await rm(file, { force: true });
}

/** Only the server of this very folder knows this password. */
async function answers(port: number, user: string, password: string): Promise<boolean> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user,
    password,
    database: 'postgres',
    connectionTimeoutMillis: 2_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function isPostgres(pid: number): Promise<boolean> {
  return readFile(`/proc/${pid}/comm`, 'utf8').then(
    (name) => name.trim() === 'postgres',
    () => false,
  );
}

async function stopServer(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT');
  for (let waitedMs = 0; isProcessAlive(pid); waitedMs += 50) {
    if (waitedMs >= 15_000) throw new Error(`A left-over PostgreSQL (process ${pid}) does not stop.`);
    await sleep(50);
  }
}
