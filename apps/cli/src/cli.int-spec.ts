import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundledManifestFolder, listedManifests, loadManifestFolder } from '#model-registry/manifest';
import { CliConfig, parseConfig } from '#platform/config';
import { runCommandLine } from '#test/command-line';
import { createMigratedDatabase, createTestDatabase, type TestDatabase } from '#test/postgres';
import { exampleManifest } from '#test/example-manifest';
import { installTinyModel } from '#test/tiny-models';
import { WeightsServer } from '#test/weights-server';
import { CliContext } from './cli-context.js';
import { runCommand } from './run-command.js';

let database: TestDatabase;
let home: string;
let hub: WeightsServer;
let weights: Record<string, Buffer>;

const commit = 'd'.repeat(40);

beforeAll(async () => {
  database = await createMigratedDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-tiny-'));
  await installTinyModel(folder, { id: 'tiny' });
  const names = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json'];
  const files = names.map(async (name) => [name, await readFile(join(folder, 'models', 'tiny', name))] as const);
  weights = Object.fromEntries(await Promise.all(files));
  weights['onnx/model_q4.onnx'] = await readFile(join(folder, 'models', 'tiny', 'model.onnx'));
  await rm(folder, { recursive: true });
});

afterAll(() => database.drop());

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice cli '));
  hub = await WeightsServer.start();
  hub.addRepository('owner/Tiny-Chat-ONNX', commit, weights);
});

afterEach(async () => {
  await hub.close();
  await rm(home, { recursive: true });
});

const run = (line: string[], environment: Record<string, string> = {}) =>
  runCommandLine(line, { SLUICE_HOME: home, DATABASE_URL: database.url, HF_ENDPOINT: hub.url, ...environment });

const runJson = async (...line: string[]) => JSON.parse(await run([...line, '--json'])) as Record<string, unknown>;
/** Runs the command line like `main.ts` and captures what a shell sees. */
async function runMain(line: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => (written[name] += String(text)).length > 0),
  );
  try {
    const environment = { SLUICE_HOME: home, DATABASE_URL: database.url, HF_ENDPOINT: hub.url };
    const code = await runCommand(new CliContext(parseConfig(CliConfig, environment)), line);
    return { code, ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const withoutDatabase = { DATABASE_URL: '' };

describe('sluice models', () => {
  it('adds a model from the hub, installs it, takes it offline and removes it', async () => {
    const added = await runJson('models', 'add', 'hf:owner/Tiny-Chat-ONNX', '--pull', '--input-price', '0.5');
    expect(added).toMatchObject({
      id: 'tiny-chat',
      changed: true,
      pulled: true,
      manifest: {
        sources: [{ uri: `hf:owner/Tiny-Chat-ONNX@${commit}` }],
        graphFile: 'onnx/model_q4.onnx',
        capabilities: { quantization: 'int4' },
        pricing: { input: { usd: 0.5 }, output: { usd: 0 } },
      },
    });
    expect(existsSync(join(home, 'models', 'tiny-chat', 'onnx', 'model_q4.onnx'))).toBe(true);
    expect(await runJson('models', 'pull', 'tiny-chat')).toMatchObject({ models: [{ status: 'present' }] });

    expect(await run(['models', 'list'])).toMatch(/tiny-chat +text +XS +[\d.]+ kB +unknown/);
    expect(await run(['models', 'offline', 'tiny-chat'])).toContain('taken offline');
    expect(await run(['models', 'list'])).toMatch(/tiny-chat .*taken offline/);
    expect(await runJson('models', 'show', 'tiny-chat')).toMatchObject({ disabled: true, registered: true });
    expect(await runJson('models', 'offline', 'tiny-chat', '--undo')).toEqual({ id: 'tiny-chat', disabled: false });

    expect(await runJson('models', 'remove', 'tiny-chat')).toMatchObject({ filesRemoved: true, unregistered: true });
    expect(existsSync(join(home, 'models', 'tiny-chat'))).toBe(false);
    await expect(run(['models', 'show', 'tiny-chat'])).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });

  it('prints a manifest to edit without changing anything', async () => {
    const text = await run(['models', 'add', 'hf:owner/Tiny-Chat-ONNX', '--id', 'mine', '--dry-run'], withoutDatabase);
    expect(text).toContain('id: mine');
    expect(text).toContain('sha256: ');
    const path = join(home, 'mine.yaml');
    await writeFile(path, text);
    expect(await runJson('models', 'add', path)).toMatchObject({ id: 'mine', changed: true });
    expect(await runJson('models', 'add', path)).toMatchObject({ id: 'mine', changed: false });
    await run(['models', 'remove', 'mine']);
  });

  it('resolves relative file sources against the manifest', async () => {
    await mkdir(join(home, 'my model', 'weights'), { recursive: true });
    await writeFile(join(home, 'my model', 'weights', 'model.onnx'), 'weights');
    const manifest = exampleManifest({ id: 'beside', sources: [{ uri: 'file:weights', files: [] }] });
    const path = join(home, 'my model', 'beside.yaml');
    await writeFile(path, JSON.stringify(manifest));
    await run(['models', 'add', path, '--pull']);
    expect(await readFile(join(home, 'models', 'beside', 'model.onnx'), 'utf8')).toBe('weights');
    await run(['models', 'remove', 'beside']);
  });

  it('registers the bundled manifests once, without fixtures', async () => {
    const bundled = await loadManifestFolder(bundledManifestFolder());
    const models = listedManifests(bundled, 'none').map(({ id }) => id);
    expect(models).toEqual(expect.arrayContaining(['stories-15m', 'tinyllama-1.1b-chat']));
    expect(await runJson('models', 'sync')).toEqual({ models, changed: models });
    expect(await run(['models', 'sync'])).toContain('stories-15m: unchanged');
    for (const id of models) await run(['models', 'remove', id]);
  });

  it('names the file and field of an invalid manifest', async () => {
    const path = join(home, 'wrong.yaml');
    await writeFile(path, JSON.stringify({ ...exampleManifest(), graphfile: 'x' }));
    await expect(run(['models', 'add', path])).rejects.toThrow(/wrong\.yaml: graphfile is not a field/);
    await writeFile(path, JSON.stringify(exampleManifest({ family: 'nonsense' })));
    await expect(run(['models', 'add', path])).rejects.toThrow(/No family is called "nonsense"\. There are: .*decoder/);
    await expect(run(['models', 'add', join(home, 'none.yaml')])).rejects.toThrow(/There is no file .*none\.yaml/);
  });

  it('pulls nothing for "all" and "none", as in SLUICE_MODELS', async () => {
    for (const names of [['none'], ['all'], ['all,none'], ['none', 'all']]) {
      expect(await run(['models', 'pull', ...names])).toContain('nothing to pull');
      expect(await runJson('models', 'pull', ...names)).toEqual({ models: [] });
    }
    await expect(run(['models', 'pull', ''])).rejects.toThrow('Nothing to pull');
    await expect(run(['models', 'pull', 'all,nothing-like-this'])).rejects.toThrow('No model or set is called');
  });

  it('prints one JSON document for a failed pull, and an error document when the command printed none', async () => {
    const path = join(home, 'gone.yaml');
    await writeFile(path, JSON.stringify(exampleManifest({ id: 'gone', sources: [{ uri: 'file:none', files: [] }] })));
    await run(['models', 'add', path]);
    const pulled = await runMain(['models', 'pull', 'gone', '--json']);
    expect(pulled).toMatchObject({ code: 1, stderr: expect.stringContaining('sluice: Not pulled: gone.') as string });
    expect(JSON.parse(pulled.stdout)).toMatchObject({ models: [{ modelId: 'gone', status: 'failed' }] });
    await run(['models', 'remove', 'gone']);
    const unknown = await runMain(['models', 'pull', 'gone', '--json']);
    expect(unknown.code).toBe(1);
    expect(JSON.parse(unknown.stdout)).toMatchObject({ error: { code: 'MODEL_NOT_FOUND' } });
  });

  it.each([
    [['add', 'hf:owner/none'], 'hf:owner/none'],
    [['add', 'https://example.org/model.onnx'], 'There is no file'],
    [['add', 'hf:owner/Tiny-Chat-ONNX', '--tier', 'XXL'], '--tier must be'],
    [['add', 'hf:owner/Tiny-Chat-ONNX', '--input-price', 'cheap'], '--input-price must be'],
    [['pull', 'nothing-like-this'], 'No model or set is called "nothing-like-this"'],
    [['offline', 'nothing-like-this'], 'no model nothing-like-this'],
    [['remove', 'nothing-like-this'], 'No model is called "nothing-like-this"'],
    [['check', 'stories-15m'], 'sluice models pull stories-15m'],
  ])('explains what is wrong with %j', async (line, message) => {
    await expect(run(['models', ...line])).rejects.toThrow(message);
  });

  it('runs on files without a database and reports commands that need one', async () => {
    await installTinyModel(home, { id: 'tiny-here' });
    expect(await run(['models', 'list'], withoutDatabase)).toMatch(/stories-15m[^]*tiny-here +text/);
    await expect(run(['models', 'offline', 'tiny-here'], withoutDatabase)).rejects.toThrow(/npm start.*DATABASE_URL/);
    await run(['models', 'remove', 'tiny-here'], withoutDatabase);
    expect(existsSync(join(home, 'models', 'tiny-here'))).toBe(false);
  });

  it('finds the database of the running installation through its home', async () => {
    const runtime = { databaseUrl: database.url, baseUrl: 'http://127.0.0.1:9/api/v1', pid: process.pid };
    await writeFile(join(home, 'runtime.json'), JSON.stringify(runtime));
    await run(['models', 'add', 'hf:owner/Tiny-Chat-ONNX', '--id', 'by-home'], withoutDatabase);
    expect(await run(['models', 'list'], withoutDatabase)).toMatch(/by-home +text +XS +– +unknown/);
    await run(['models', 'remove', 'by-home'], withoutDatabase);
  });

  it('ignores the state file that a killed installation left behind', async () => {
    const { pid } = spawnSync(process.execPath, ['--eval', '']);
    const runtime = { databaseUrl: 'postgresql://nobody@127.0.0.1:9/none', baseUrl: 'http://127.0.0.1:9/api/v1', pid };
    await writeFile(join(home, 'runtime.json'), JSON.stringify(runtime));
    expect(await run(['models', 'list'], withoutDatabase)).toContain('stories-15m');
    await expect(run(['accounts', 'list'], withoutDatabase)).rejects.toThrow(/npm start.*DATABASE_URL/);
  });
});

describe('sluice keys and accounts', () => {
  it('creates, lists and revokes keys, and shows a key once', async () => {
    const account = await runJson('accounts', 'create', 'team');
    const made = await runJson('keys', 'create', '--account', String(account['id']), '--description', 'for tests');
    expect(made).toMatchObject({ key: expect.stringMatching(/^slk_/), kind: 'INFERENCE' });
    const listing = await run(['keys', 'list']);
    expect(listing).toMatch(/INFERENCE .*valid +– +ALL +for tests/);
    expect(listing).not.toContain(String(made['key']));
    await run(['keys', 'revoke', String(made['id'])]);
    expect(await run(['keys', 'list'])).toContain('revoked');
    await expect(run(['keys', 'revoke', String(made['id'])])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await run(['accounts', 'list'])).toContain('team');
  });

  it('sets and shows limits, expiry and privacy of keys', async () => {
    const { id } = await runJson('accounts', 'create', 'limited');
    const of = ['--account', String(id)];
    const options = ['--limit-usd', '12.5', '--limit-diem', '0', '--limit-period', 'MONTH'];
    const made = await runJson('keys', 'create', ...of, ...options, '--expires', '2999-01-31', '--kind', 'admin');
    expect(made).toMatchObject({
      kind: 'ADMIN',
      limitUsdNano: '12500000000',
      limitDiemNano: '0',
      limitPeriod: 'MONTH',
      modelPrivacy: 'ALL',
      expiresAt: '2999-01-31T00:00:00.000Z',
    });
    await run(['keys', 'create', ...of, '--limit-usd', '9999999999', '--model-privacy', 'PRIVATE_ONLY']);
    const listing = await run(['keys', 'list', ...of]);
    expect(listing).toMatch(/until 2999-01-31.* 12\.500000 USD, 0\.000000 DIEM per month +ALL/);
    expect(listing).toContain('PRIVATE_ONLY');
    expect(await runJson('keys', 'list', ...of)).toMatchObject({ keys: [{ id: made['id'] }, {}] });
    expect(JSON.stringify(await runJson('keys', 'list', ...of))).not.toContain('slk_');
  });

  it('grants and withdraws access to models in closed beta', async () => {
    const { id, betaAccess } = await runJson('accounts', 'create', 'tester');
    expect(betaAccess).toBe(false);
    expect(await runJson('accounts', 'beta', String(id))).toEqual({ id, betaAccess: true });
    expect(await run(['accounts', 'show', String(id)])).toMatch(/tester\ntier default, beta access/);
    expect(await run(['accounts', 'beta', String(id), '--off'])).toContain('has no access to models in closed beta');
    expect(await runJson('accounts', 'show', String(id))).toMatchObject({ betaAccess: false });
  });

  it('sets the tier of accounts', async () => {
    const { id, tier } = await runJson('accounts', 'create', 'friend', '--tier', 'partner');
    expect(tier).toBe('partner');
    expect(await run(['accounts', 'list', '--tier', 'partner'])).toContain('friend');
    expect(await run(['accounts', 'show', String(id)])).toMatch(/friend\ntier partner/);
    expect(await runJson('accounts', 'set-tier', String(id), 'default')).toEqual({ id, tier: 'default' });
    expect(await run(['accounts', 'list', '--tier', 'partner'])).not.toContain('friend');
    expect(await runJson('accounts', 'show', String(id))).toMatchObject({ tier: 'default', name: 'friend' });
  });

  it.each([
    [['keys', 'create', '--kind', 'ROOT'], '--kind must be'],
    [['keys', 'create', '--expires', 'soon'], '--expires must be an ISO date'],
    [['keys', 'create', '--expires', '2999-02-30'], '--expires must be an ISO date'],
    [['keys', 'create', '--expires', '2001-01-01'], 'in the future'],
    [['keys', 'create', '--limit-usd', '-1'], '--limit-usd must be a decimal'],
    [['keys', 'create', '--limit-diem', 'NaN'], '--limit-diem must be a decimal'],
    [['keys', 'create', '--limit-usd', '10000000000'], '--limit-usd must be a decimal'],
    [['keys', 'create', '--limit-period', 'WEEK'], 'Allowed choices are EPOCH, MONTH, LIFETIME'],
    [['keys', 'create', '--description', '🚣'.repeat(65)], 'at most 64 characters'],
    [['keys', 'create', '--account', 'nobody'], 'There is no account nobody'],
    [['keys', 'list', '--account', 'nobody'], 'There is no account nobody'],
    [['accounts', 'create', 'x', '--tier', 'gold'], 'Allowed choices are default, partner'],
    [['accounts', 'show', 'nobody'], 'There is no account nobody'],
    [['accounts', 'set-tier', 'nobody', 'partner'], 'There is no account nobody'],
    [['accounts', 'beta', 'nobody'], 'There is no account nobody'],
    [['accounts', 'set-tier', 'nobody', 'gold'], 'The tier must be one of'],
  ])('refuses %j', async (line, message) => {
    await runJson('accounts', 'create', 'first');
    await expect(run(line)).rejects.toThrow(message);
  });
});

describe('sluice credits, diem and ledger', () => {
  it('grants, revokes and shows credit, and verifies the ledger', async () => {
    const { id } = await runJson('accounts', 'create', 'payer');
    const account = ['--account', String(id)];
    const grant = ['credits', 'grant', '12.5', '--reference', `invoice-${String(id)}`, ...account];
    expect(await runJson(...grant, '--paid')).toMatchObject({ kind: 'top_up', currency: 'USD', posted: true });
    expect(await runJson(...grant, '--paid')).toMatchObject({ posted: false });
    await expect(run(grant)).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'reference' });
    await run(['credits', 'grant', '2', '--currency', 'BUNDLED', ...account]);
    await run(['credits', 'revoke', '0.5', '--note', 'mistake', ...account]);
    expect(await runJson('diem', 'set-stake', '3', ...account)).toMatchObject({ allowanceNano: '3000000000' });
    expect(await runJson('accounts', 'show', String(id))).toMatchObject({
      name: 'payer',
      balance: { usdNano: '12000000000', bundledNano: '2000000000', diemNano: '3000000000', heldNano: '0' },
    });
    expect(await run(['accounts', 'show', String(id)])).toMatch(/USD +12\.000000/);
    expect(await run(['ledger', 'show', ...account])).toMatch(/revoke +-0\.500000000 +USD +mistake/);
    expect(await runJson('ledger', 'show', '--limit', '1', ...account)).toMatchObject({
      entries: [{ kind: 'allowance', amountNano: '3000000000' }],
    });
    expect(await runJson('ledger', 'verify')).toMatchObject({ consistent: true, breaks: { wrongBalances: 0 } });
    expect(await run(['ledger', 'verify'])).toMatch(/ok +0 transactions that do not sum to zero/);
  });

  it('fails when the ledger is inconsistent and names the violation', async () => {
    const { id } = await runJson('accounts', 'create', 'broken');
    const client = new pg.Client(database.url);
    await client.connect();
    try {
      await client.query('UPDATE balances SET usd_nano = 5 WHERE account_id = $1', [id]);
      await expect(run(['ledger', 'verify'])).rejects.toThrow('The ledger is broken');
      const { code, stdout, stderr } = await runMain(['ledger', 'verify', '--json']);
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'sluice: The ledger is broken.\n' });
      expect(JSON.parse(stdout)).toMatchObject({ consistent: false, breaks: { wrongBalances: 1 } });
    } finally {
      await client.query('UPDATE balances SET usd_nano = 0 WHERE account_id = $1', [id]);
      await client.end();
    }
  });

  it.each([
    [['credits', 'grant', '-1'], 'must be a decimal'],
    [['credits', 'grant', '1e9'], 'must be a decimal'],
    [['credits', 'grant', '0'], 'must be a decimal'],
    [['credits', 'grant', '1', '--currency', 'EUR'], 'Allowed choices are DIEM, BUNDLED, USD'],
    [['credits', 'grant', '1', '--account', 'nobody'], 'There is no account nobody'],
    [['credits', 'revoke', '999999999'], 'of the account are free'],
    [['diem', 'set-stake', 'much'], 'must be a decimal'],
    [['ledger', 'show', '--limit', '0'], '--limit must be'],
    [['ledger', 'show', '--account', 'nobody'], 'There is no account nobody'],
    [['ledger', 'show', '--account', '00000000-0000-4000-8000-000000000000'], 'There is no account 0000'],
  ])('refuses %j', async (line, message) => {
    await runJson('accounts', 'create', 'first');
    await expect(run(line)).rejects.toThrow(message);
  });
});

describe('sluice migrate', () => {
  it('migrates an empty database and has nothing to do afterwards', async () => {
    const empty = await createTestDatabase();
    try {
      const url = { DATABASE_URL: empty.url };
      expect(await run(['migrate'], url)).toMatch(/^\d+_\w+: applied$/m);
      expect(await run(['migrate'], url)).toBe('The database is up to date.\n');
      expect(JSON.parse(await run(['migrate', '--json'], url))).toEqual({ applied: [] });
    } finally {
      await empty.drop();
    }
  });

  it('requires a database and says so without one', async () => {
    await expect(run(['migrate'], withoutDatabase)).rejects.toThrow('set DATABASE_URL');
  });
});
