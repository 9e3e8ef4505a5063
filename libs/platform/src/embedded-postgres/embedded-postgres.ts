import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { createServer } from 'node:net';
import { StartRefusal } from '../process/index.js';
import {
  fullDisk,
  openDataFolder,
  programRefusal,
  remoteRulesFile,
  serverEnvironment,
  spawnOptionsFor,
  superuser,
  writeRemoteRules,
} from './data-folder.js';
import { clearLeftOverServer } from './left-over-server.js';
import {
  locatePostgresBinaries,
  type PostgresBinaries,
  type ServerIdentity,
  serverIdentity,
} from './postgres-binaries.js';
import { failureReason, nameDataFolder, saysDiskFull } from './server-output.js';

export interface EmbeddedPostgresOptions {
  /** Created and initialized if missing. Only one process may use it at a time. */
  dataFolder: string;
  /** TCP port on 127.0.0.1; default: that of `remote`, or a free one. */
  port?: number;
  /** Default: only this machine reaches the server. */
  remote?: RemoteAccess;
  /** False trades crash safety for speed, for tests only. Default: true. */
  durable?: boolean;
  /** Called with each line the server logs. */
  onLog?: (line: string) => void;
  /** Called when the server exits without `stop`. */
  onExit?: (code: number | null) => void;
}

/** Lets other machines reach the server, without TLS. */
export interface RemoteAccess {
  /** An address of this machine, at which the server listens too. */
  readonly host: string;
  readonly port: number;
  /** Only roles whose names begin like this connect from other machines. */
  readonly rolePrefix: string;
}

export interface EmbeddedPostgres {
  /** URL of the superuser, database `postgres`. */
  readonly url: string;
  readonly port: number;
  readonly password: string;
  /** Returns the URL of another database of this server. */
  urlOf(database: string): string;
  /** Disconnects all clients and stops the server. A second call waits for the first. */
  stop(): Promise<void>;
}

interface Launch {
  binaries: PostgresBinaries;
  identity: ServerIdentity | null;
  dataFolder: string;
  port: number;
  options: EmbeddedPostgresOptions;
}

const loopback = '127.0.0.1';

const stopPatienceMs = 15_000;

/**
 * Starts PostgreSQL from the npm package on 127.0.0.1 with a password, as `nobody` when this process runs as root.
 * Rejects with the server's last log lines if it does not start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataFolder = resolve(options.dataFolder);
  const identity = serverIdentity();
  const binaries = await locatePostgresBinaries(identity);
  const password = await openDataFolder(dataFolder, binaries, identity);
  await clearLeftOverServer(dataFolder, superuser, password);
  if (options.remote) await writeRemoteRules(dataFolder, options.remote.rolePrefix, identity);
  const chosenPort = options.port ?? options.remote?.port;
  // Another process can take the free port before the server listens; the next try uses another one.
  for (let tries = 1; ; tries += 1) {
    const port = chosenPort ?? (await freePort());
    try {
      const child = await launch({ binaries, identity, dataFolder, port, options });
      return describe(child, port, password);
    } catch (error) {
      if (chosenPort !== undefined || tries === 3) throw error;
    }
  }
}

function describe(child: ChildProcess, port: number, password: string): EmbeddedPostgres {
  const urlOf = (database: string): string => `postgresql://${superuser}:${password}@${loopback}:${port}/${database}`;
  let stopping: Promise<void> | undefined;
  const killAtExit = (): void => void child.kill('SIGINT');
  process.once('exit', killAtExit);
  return {
    url: urlOf('postgres'),
    port,
    password,
    urlOf,
    stop: () => {
      process.removeListener('exit', killAtExit);
      stopping ??= stopChild(child);
      return stopping;
    },
  };
}

async function launch({ binaries, identity, dataFolder, port, options }: Launch): Promise<ChildProcess> {
  const spawnOptions = spawnOptionsFor(dataFolder, identity);
  const settings = {
    ...serverSettings(port),
    ...(options.remote && remoteSettings(options.remote, spawnOptions.dataArgument)),
    ...(options.durable === false ? fastSettings : {}),
  };
  const child = spawn(
    binaries.postgres,
    [
      '-D',
      spawnOptions.dataArgument,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    {
      cwd: spawnOptions.cwd,
      ...spawnOptions.identity,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: serverEnvironment(),
      // A process group of its own: Ctrl-C must not reach the server before its clients have ended.
      detached: true,
    },
  );
  await untilReady(child, binaries.postgres, dataFolder, options.onLog);
  child.once('exit', (code) => {
    if (!stoppedOnPurpose.has(child)) options.onExit?.(code);
  });
  // The server does not keep this process alive.
  child.unref();
  return child;
}

const stoppedOnPurpose = new WeakSet<ChildProcess>();

function serverSettings(port: number): Record<string, string> {
  return {
    port: String(port),
    listen_addresses: loopback,
    unix_socket_directories: '',
    max_connections: '200',
    log_timezone: 'UTC',
    timezone: 'UTC',
    password_encryption: 'scram-sha-256',
  };
}

function remoteSettings({ host }: RemoteAccess, dataFolder: string): Record<string, string> {
  return {
    // 0.0.0.0 includes the other address, which would then be in use.
    listen_addresses: host === '0.0.0.0' ? host : [...new Set([loopback, host])].join(','),
    hba_file: `${dataFolder}/${remoteRulesFile}`,
  };
}

const fastSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
};

async function untilReady(
  child: ChildProcess,
  program: string,
  dataFolder: string,
  onLog: ((line: string) => void) | undefined,
): Promise<void> {
  const lastLines: string[] = [];
  await new Promise<void>((done, fail) => {
    let rest = '';
    let refusal: string | undefined;
    child.stderr?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        lastLines.push(line);
        if (lastLines.length > 20) lastLines.shift();
        onLog?.(nameDataFolder(line, dataFolder));
        if (refusal === undefined && line.includes('database system is ready to accept connections')) done();
        if (!line.includes('could not create listen socket')) continue;
        // PostgreSQL would go on with the other address, and may say that it is ready before it has ended.
        refusal = `PostgreSQL cannot listen here: ${failureReason(lastLines, dataFolder)}`;
        child.kill('SIGQUIT');
      }
    });
    child.once('error', (error) => fail(programRefusal(program, error)));
    child.once('exit', () => {
      if (saysDiskFull(lastLines.join(' '))) return fail(fullDisk(dataFolder));
      refusal ??= `PostgreSQL does not start on ${dataFolder}: ${failureReason(lastLines, dataFolder)}`;
      fail(new StartRefusal(refusal));
    });
  });
}

async function stopChild(child: ChildProcess): Promise<void> {
  stoppedOnPurpose.add(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  child.kill('SIGINT');
  // "Immediate" shutdown: crash recovery at the next start is better than a server that never exits.
  const killTimer = setTimeout(() => child.kill('SIGQUIT'), stopPatienceMs);
  await ended;
  clearTimeout(killTimer);
}

/** Returns a free TCP port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, loopback, () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address ? done(address.port) : fail(new Error('No free port was found.')),
      );
    });
  });
}
