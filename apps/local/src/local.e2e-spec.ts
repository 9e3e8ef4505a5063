import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '#platform/embedded-postgres';
import { itInFull } from '#test/extent';
import { LocalRun, project } from '#test/local-run';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';

/** Pids of the child processes by app (Linux only). */
async function childrenOf(pid: number): Promise<Map<string, number>> {
  const ids = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);
  const found = new Map<string, number>();
  for (const id of ids) {
    const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
    const app = /apps\/(api|worker|ops)\/src\/main\.js/.exec(command)?.[1];
    if (app) found.set(app, id);
  }
  return found;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe.runIf(process.platform === 'linux')('npm start', () => {
  let folder: string;
  let home: string;
  let port: number;
  let runs: LocalRun[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice local '));
    await chmod(folder, 0o700);
    home = join(folder, 'my home', '.sluice');
    port = await freePort();
    runs = [];
  });

  afterEach(async () => {
    await Promise.all(runs.map((run) => run.stop('SIGTERM')));
    await rm(folder, { recursive: true, force: true });
  });

  function start(environment: Record<string, string> = {}): LocalRun {
    const run = new LocalRun(home, { PORT: String(port), ...environment });
    runs.push(run);
    return run;
  }

  const get = (path: string, key?: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: key ? { authorization: `Bearer ${key}` } : {} });

  const healthUrl = async () =>
    (JSON.parse(await readFile(join(home, 'runtime.json'), 'utf8')) as { healthUrl: string }).healthUrl;

  const creditOf = async (adminKey = '') =>
    ((await (await get('/api/v1/billing/balance', adminKey)).json()) as { balances: { usd: number } }).balances.usd;

  it('shows its keys once, serves, stops cleanly and restarts with its existing data', async () => {
    const first = start();
    await first.says('Sluice is ready');
    expect(first.output.match(/database (created|migrated)/g)).toEqual(['database created']);
    // The output is a pipe, which may end in a file: the keys are not in it.
    expect(first.output).not.toContain('slk_');
    const keysFile = join(home, 'first-keys.txt');
    expect(first.output).toContain(keysFile);
    expect((await stat(keysFile)).mode & 0o777).toBe(0o600);
    const adminKey = /Admin key\s+(slk_\S+)/.exec(await readFile(keysFile, 'utf8'))?.[1];
    expect(adminKey).toBeDefined();
    const runtime = JSON.parse(await readFile(join(home, 'runtime.json'), 'utf8')) as Record<string, unknown>;
    expect((await fetch(`${await healthUrl()}/health/ready`)).status).toBe(200);
    expect((await get('/health/ready')).status).toBe(404);
    expect((await get('/metrics')).status).toBe(404);
    // docs/operate/operations.md tells the owner of the folder what everything in it is.
    const page = await readFile(join(project, 'docs', 'operate', 'operations.md'), 'utf8');
    const told = [...page.matchAll(/^\| (`[^|]+`) +\|/gm)].flatMap(([, cell = '']) => cell.match(/[\w.-]+/g) ?? []);
    expect((await readdir(home)).filter((name) => !told.includes(name))).toEqual([]);
    expect(runtime).toMatchObject({ baseUrl: `http://127.0.0.1:${port}/api/v1`, pid: first.pid });
    expect(await creditOf(adminKey)).toBe(100);
    const children = [...(await childrenOf(first.pid)).values()];
    expect(children).toHaveLength(3);
    expect(await first.stop()).toBe(0);
    expect(first.output).toMatch(/api stopped[\s\S]*worker stopped[\s\S]*ops stopped[\s\S]*everything is stopped/);
    expect(children.filter(isAlive)).toEqual([]);

    const second = start();
    await second.says('Sluice is ready');
    expect(second.output).not.toContain('slk_');
    expect(second.output).not.toMatch(/database (created|migrated)/);
    const answer = await get('/api/v1/models', adminKey);
    expect(answer.status).toBe(200);
    // Credit of the first start only.
    expect(await creditOf(adminKey)).toBe(100);
    expect(await second.stop('SIGTERM')).toBe(0);
  });

  itInFull('uses the configured keys and its own database, and grants no credit in production', async () => {
    const run = start({
      NODE_ENV: 'production',
      SLUICE_BOOTSTRAP_ADMIN_KEY: 'slk_admin-key-of-my-own-choice',
      SLUICE_BOOTSTRAP_INFERENCE_KEY: 'slk_inference-key-of-my-own-choice',
      // Variables about other databases, which are not for it.
      ...{ PGSSLMODE: 'require', PGSSLNEGOTIATION: 'direct', PGOPTIONS: '-c search_path=app', PGDATA: '/nonexistent' },
      ...{ PGHOST: 'nobody.invalid', PGPORT: '1', PGUSER: 'app', PGPASSWORD: 'app', PGDATABASE: 'app' },
      ...{ PGCLIENTENCODING: 'none', PGCLIENT_ENCODING: 'none', PGREPLICATION: 'database', PGBINARY: '1' },
      ...{ PGCONNECT_TIMEOUT: 'x', PGSERVICE: 'app', PGPASSFILE: '/nonexistent', NODE_PG_FORCE_NATIVE: '1' },
    });
    await run.says('Sluice is ready');
    const keys = await readFile(join(home, 'first-keys.txt'), 'utf8');
    expect(keys).toContain('slk_admin-key-of-my-own-choice');
    expect(keys).toContain('slk_inference-key-of-my-own-choice');
    expect(await creditOf('slk_admin-key-of-my-own-choice')).toBe(0);
    expect((await run.sluice('accounts', 'list')).stdout).toContain('default');
  });

  itInFull('restarts a process that crashed, also when the reader of its log has ended', async () => {
    const run = start();
    await run.says('Sluice is ready');
    const api = (await childrenOf(run.pid)).get('api') ?? 0;
    process.kill(api, 'SIGKILL');
    await run.says('api ended (SIGKILL); it starts again in 0.5 s');
    const restarted = async (app: string, before: number) =>
      await expect
        .poll(async () => (await childrenOf(run.pid)).get(app) ?? before, { timeout: 30_000 })
        .not.toBe(before);
    const ready = async () => (await fetch(`${await healthUrl()}/health/ready`).catch(() => null))?.status;
    await restarted('api', api);
    await expect.poll(ready, { timeout: 60_000 }).toBe(200);

    run.loseOutput();
    const ops = (await childrenOf(run.pid)).get('ops') ?? 0;
    process.kill(ops, 'SIGKILL');
    await restarted('ops', ops);
    expect(await ready()).toBe(200);
    expect(await run.stop('SIGTERM')).toBe(0);
  });

  it('refuses a home in use and a taken port, and leaves no process behind when it is killed', async () => {
    const run = start();
    await run.says('Sluice is ready');
    const sameHome = start({ PORT: String(await freePort()) });
    expect(await sameHome.ended).toBe(1);
    expect(sameHome.output).toContain(`Sluice already runs on ${home}`);
    const otherHome = new LocalRun(join(folder, 'other'), { PORT: String(port) });
    expect(await otherHome.ended).toBe(1);
    expect(otherHome.output).toContain(`Port ${port} on 127.0.0.1 is taken`);

    const children = [...(await childrenOf(run.pid)).values()];
    await run.stop('SIGKILL');
    await expect.poll(() => children.filter(isAlive), { timeout: 40_000 }).toEqual([]);
    const again = start();
    await again.says('Sluice is ready');
    // Four starts on a busy machine.
  }, 300_000);

  it('names every invalid variable', async () => {
    const run = start({ PORT: 'many', LOG_LEVEL: 'loud' });
    expect(await run.ended).toBe(1);
    expect(run.output).toContain('PORT is "many"; expected a whole number from 0 to 65535.');
    expect(run.output).toContain('LOG_LEVEL is "loud"');
  });

  itInFull('serves a GGUF file, and safetensors, after one command each', async () => {
    const file = join(folder, 'own-model.gguf');
    await writeFile(file, await ggufFile(tinyDecoder('llama', 1)));
    const run = start();
    await run.says('Sluice is ready');
    const { stdout } = await run.sluice('models', 'add', file, '--weights', 'int8');
    expect(stdout).toContain('own-model: serving');
    const key = await run.inferenceKey();
    const { data } = (await (await get('/api/v1/models', key)).json()) as {
      data: { id: string; model_spec: object }[];
    };
    expect(data.find(({ id }) => id === 'own-model')?.model_spec).toMatchObject({
      offline: false,
      capabilities: { quantization: 'int8' },
    });

    const added = await run.addTinyModel(folder);
    expect(added.stderr).toContain('own-folder: llama, 0.0 M parameters, safetensors with BF16; served as float32');
    expect(added.stdout).toContain('own-folder: serving');
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'own-folder',
        temperature: 0,
        max_completion_tokens: 4,
        messages: [{ role: 'user', content: 'How are you today?' }],
      }),
    });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { role: 'assistant' } }],
      // The folder's own template: <|user|>How are you today?<|end|><|assistant|>
      usage: { prompt_tokens: 13 },
    });
  });

  it('lists the available models when an unknown one is requested, before anything is created', async () => {
    const misspelled = start({ SLUICE_MODELS: 'storys-15m' });
    expect(await misspelled.ended).toBe(1);
    expect(misspelled.output).toContain(
      'SLUICE_MODELS: No model or set is called "storys-15m". Did you mean stories-15m?',
    );
    expect(misspelled.output.trim().split('\n')).toHaveLength(1);
    const run = start({ SLUICE_MODELS: 'no-such-model' });
    expect(await run.ended).toBe(1);
    expect(existsSync(home)).toBe(false);
    expect(run.output).toMatch(/SLUICE_MODELS: No model or set is called "no-such-model". There are: .*stories-15m/);
  });
});
