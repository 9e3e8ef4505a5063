import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { endProcess } from './end-process.js';
import { freePort } from './free-port.js';
import { type Site, thisMachine } from './site.js';

/** A `redis-server` for one test, on its own port, with its data in a temporary folder. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Pid; 0 while it is stopped. */
  readonly pid: number;
  /** Stops the server; `start` restores the same data on the same port. */
  stop(options?: { signal?: NodeJS.Signals }): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and deletes its folder. */
  close(): Promise<void>;
}

/** False without a `redis-server` on the PATH: suites that need one report it and are skipped. */
export const redisAvailable = spawnSync('redis-server', ['--version']).status === 0;

/** Starts a server; `args` are additional redis-server options, e.g. `['--appendonly', 'yes']`. */
export async function startRedis(args: string[] = [], site: Site = thisMachine): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-redis-'));
  const port = await freePort();
  const host = site.address('redis');
  let child: ChildProcess | null = null;

  const start = async () => {
    const listening = [
      '--port',
      String(port),
      '--bind',
      host,
      ...(site === thisMachine ? [] : ['--protected-mode', 'no']),
    ];
    const own = [...listening, '--dir', folder, '--save', '', '--daemonize', 'no'];
    const [command = '', ...rest] = site.command('redis', ['redis-server', ...own, ...args]);
    child = spawn(command, rest, { stdio: 'ignore' });
    await untilAccepting({ host, port }, child);
  };
  const stop = async ({ signal = 'SIGTERM' }: { signal?: NodeJS.Signals } = {}) => {
    const running = child;
    child = null;
    await endProcess(running, signal);
  };
  const close = async () => {
    await stop({ signal: 'SIGKILL' });
    // A child that rewrites the append-only file may outlive the server for a moment.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };

  await start();
  return {
    url: `redis://${host}:${port}`,
    port,
    get pid() {
      return child?.pid ?? 0;
    },
    start,
    stop,
    close,
  };
}

interface Address {
  host: string;
  port: number;
}

async function untilAccepting(address: Address, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    if (await respondsToPing(address)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('redis-server did not respond within 15 s');
}

function respondsToPing(address: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address, () => socket.write('PING\r\n'));
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    // A server that wants a password first has started as well.
    socket.once('data', (bytes) => done(/^([+]PONG|-NOAUTH)/.test(bytes.toString('latin1'))));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
  });
}
