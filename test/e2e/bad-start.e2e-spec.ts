import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '#platform/migrations';
import { isFull } from '#test/extent';
import { freePort } from '#test/free-port';
import { createTestDatabase, type TestDatabase } from '#test/postgres';
import { installTinyModel } from '#test/tiny-models';
import { startSluice } from './sluice-command.js';

/* Output of a process that is started with an invalid environment. */

const distFolder = fileURLToPath(new URL('../../dist/', import.meta.url));
const secretKey = '5c'.repeat(32);

type App = 'api' | 'worker' | 'ops';

/** What is wrong with the address of a database, and what is said of it. */
const wrongUrls: [string, (url: URL) => void, App, string[], RegExp][] = [
  [
    'a port that nobody listens on',
    (url) => (url.port = '1'),
    'api',
    ['accounts', 'list'],
    /Connections are refused|host cannot be reached/,
  ],
  [
    'an unknown host',
    (url) => (url.hostname = 'nobody.invalid'),
    'ops',
    ['migrate'],
    /host is unknown|cannot be (resolved|reached)/,
  ],
  ['an unknown database', (url) => (url.pathname = '/nothing'), 'api', ['migrate'], /This database does not exist/],
];

/** A product process and all its output. */
class StartedApp {
  said = '';
  readonly ended: Promise<number | null>;
  private readonly child: ChildProcess;

  constructor(app: App, env: Record<string, string>) {
    const entry = join(distFolder, `apps/${app}/src/main.js`);
    this.child = spawn(process.execPath, [entry], {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.said += text));
    }
    this.ended = new Promise((resolve) => this.child.once('close', resolve));
  }

  /** Messages of its log lines. */
  get lines(): string[] {
    return this.said
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [(JSON.parse(line) as { msg: string }).msg] : []));
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

/** A server that identifies itself as a Redis of 2018. */
async function oldRedis(): Promise<Server> {
  const info = '# Server\r\nredis_version:5.0.7\r\nmaxmemory_policy:noeviction\r\nused_memory:1\r\nmaxmemory:0\r\n';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      for (const [, command = ''] of bytes.toString('latin1').matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        const isInfo = command.toLowerCase() === 'info';
        if (command.toLowerCase() === 'hello') socket.write("-ERR unknown command 'hello'\r\n");
        else socket.write(isInfo ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describe('a process', () => {
  let home: string;
  let database: TestDatabase;
  const apps: StartedApp[] = [];

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-start-'));
    database = await createTestDatabase();
  });
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.kill())));
  afterAll(async () => {
    await database.drop();
    await rm(home, { recursive: true, force: true });
  });

  function start(app: App, env: Record<string, string>): StartedApp {
    const started = new StartedApp(app, { SLUICE_HOME: home, ...env });
    apps.push(started);
    return started;
  }

  it.each<[App, Record<string, string>, string[]]>([
    ['api', { PORT: 'many', SLUICE_QUEUE_LIMIT: '0', LOG_LEVEL: 'loud' }, ['DATABASE_URL', 'SLUICE_SECRET_KEY']],
    ['ops', { SLUICE_OPS_PORT: '-1', SLUICE_SWEEP_INTERVAL_MS: '1' }, ['DATABASE_URL', 'SLUICE_SECRET_KEY']],
    ['worker', { SLUICE_DRAIN_MS: 'x', SLUICE_PICKUP_TIMEOUT_MS: '1' }, ['SLUICE_QUEUE_URL or REDIS_URL']],
  ])('reports every invalid variable of %s and exits with 1', async (app, bad, missing) => {
    const started = start(app, bad);
    expect(await started.ended).toBe(1);
    for (const name of Object.keys(bad)) expect(started.said).toMatch(new RegExp(`^  ${name} is .*; expected `, 'm'));
    for (const name of missing) expect(started.said).toMatch(new RegExp(`^  ${name} is not set`, 'm'));
    expect(started.said.trimEnd().split('\n')).toHaveLength(1 + Object.keys(bad).length + missing.length);
  });

  it.each<App>(['api', 'worker', 'ops'])(
    '%s: reports a Redis that is too old in one plain line with the fix',
    async (app) => {
      const redis = await oldRedis();
      const url = `redis://127.0.0.1:${(redis.address() as AddressInfo).port}`;
      const started = start(app, { REDIS_URL: url, DATABASE_URL: database.url, SLUICE_SECRET_KEY: secretKey });
      expect(await started.ended).toBe(1);
      expect(started.lines.at(-1)).toMatch(new RegExp(`^${app} ends: Redis 5\\.0\\.7 is too old.* 6\\.2 or newer`));
      expect(started.said).not.toMatch(/\n\s+at /);
      redis.close();
    },
  );

  it.each(isFull ? wrongUrls : wrongUrls.slice(-1))(
    '%s in DATABASE_URL is one plain line with the way out',
    async (_, change, app, command, text) => {
      const url = new URL(database.url);
      change(url);
      const env = { DATABASE_URL: url.href, SLUICE_SECRET_KEY: secretKey };
      const started = start(app, env);
      expect(await started.ended).toBe(1);
      expect(started.lines.at(-1)).toMatch(text);
      expect(started.said).not.toMatch(/\n\s+at |"stack"/);
      const { code, stderr } = await startSluice(command, { PATH: process.env.PATH, ...env }).finished;
      expect({ code, lines: stderr.trim().split('\n').length }, stderr).toEqual({ code: 1, lines: 1 });
      expect(stderr).toMatch(text);
    },
  );

  it('warns of SLUICE_ variables that no process reads', async () => {
    const env = { SLUICE_MODEL: 'all', SLUICE_API_SERVICE_HOST: '10.0.0.1', SLUICE_HOME: home };
    const { stderr } = await startSluice(['doctor', '--json'], { PATH: process.env.PATH, ...env }).finished;
    expect(stderr).toContain('warning: SLUICE_MODEL is set, but no process reads it. Did you mean SLUICE_MODELS?\n');
    expect(stderr).not.toContain('SERVICE_HOST');
  });

  it('with missing migrations is not ready, names the command, and is ready afterwards', async () => {
    const port = await freePort();
    const env = {
      DATABASE_URL: database.url,
      SLUICE_SECRET_KEY: secretKey,
      SLUICE_API_HEALTH_PORT: String(port),
      PORT: '0',
    };
    const started = start('api', env);
    const ready = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
      return (await response.json()) as { status: string; reasons?: Record<string, string> };
    };
    await expect.poll(() => ready().catch(() => null), { timeout: 30_000 }).toMatchObject({ status: 'unavailable' });
    expect((await ready()).reasons?.migrations).toMatch(/^The database is behind: \d+ migrations .*`sluice migrate`/);
    expect(started.lines.some((line) => line.includes('The database is behind'))).toBe(true);
    await migrate({ url: database.url });
    await expect.poll(ready, { timeout: 10_000 }).toMatchObject({ status: 'ok' });

    // The port of the callers shows nothing of this.
    const address = started.lines
      .map((line) => /^listening on (\S+)$/.exec(line)?.[1])
      .find((each) => each !== undefined);
    for (const path of ['health/live', 'health/ready', 'metrics']) {
      expect((await fetch(`${address}/${path}`)).status, path).toBe(404);
    }
    const metrics = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect([metrics.status, await metrics.text()]).toEqual([200, expect.stringContaining('sluice_ready')]);
  });

  it('with unwritable storage reports it and is ready for everything else', async () => {
    await migrate({ url: database.url });
    const file = join(home, 'file');
    await writeFile(file, '');
    const port = await freePort();
    const env = {
      DATABASE_URL: database.url,
      SLUICE_SECRET_KEY: secretKey,
      SLUICE_API_HEALTH_PORT: String(port),
      PORT: '0',
    };
    start('api', { ...env, SLUICE_STORAGE_URL: `file://${file}/artifacts` });
    await expect
      .poll(() => fetch(`http://127.0.0.1:${port}/health/ready`).then((response) => response.json()), {
        timeout: 30_000,
      })
      .toMatchObject({
        status: 'ok',
        checks: { storage: 'unavailable' },
        reasons: { storage: expect.stringMatching(/media storage/) },
      });
  });

  it('with a model of an unknown family lists the known ones', async () => {
    await installTinyModel(home, { id: 'strange' });
    const path = join(home, 'models', 'strange', 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...manifest, family: 'nonsense' }));
    const env = { SLUICE_QUEUE_URL: database.url, SLUICE_MODELS: 'strange', SLUICE_WORKER_PORT: '0' };
    const worker = start('worker', env);
    await expect
      .poll(() => worker.said, { timeout: 30_000 })
      .toMatch(/No family is called \\?"nonsense\\?"\. There are: .*decoder.*Correct/);
  });
});
