import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { JobQuote, KeyUsageRepository, LedgerRepository, ReservationStep } from '#billing';
import { newRequestId, noTokens } from '#common';
import { bundledManifestFolder, listedManifests, loadManifestFolder } from '#model-registry/manifest';
import { CliConfig, parseConfig } from '#platform/config';
import { PrismaService } from '#platform/prisma';
import { runCommandLine } from '#test/command-line';
import { createMigratedDatabase, createTestDatabase, type TestDatabase } from '#test/postgres';
import { exampleManifest } from '#test/example-manifest';
import { copyTinyAdapter, editTensorList, tinyAdapterFolder } from '#test/tiny-adapters';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { tinyBertFolder } from '#test/tiny-encoder';
import { installTinyModel } from '#test/tiny-models';
import { tinyRerankerFolder } from '#test/tiny-reranker';
import { WeightsServer } from '#test/weights-server';
import { CliContext } from './cli-context.js';
import { createProgram } from './program.js';
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

/** Admits a request that reserves 1 USD; charges it unless the amount is null. */
async function holdAndCharge(accountId: string, apiKeyId: string, amountNano: bigint | null): Promise<void> {
  const prisma = new PrismaService({ url: database.url, poolSize: 1 });
  const requestId = newRequestId('TST');
  await prisma.$executeRaw`
    INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, deadline_at)
    VALUES (${requestId}, ${accountId}::uuid, ${apiKeyId}::uuid, 'chat', 'tiny', now())`;
  const quote = new JobQuote(1_000_000_000n, { id: 1n, modelId: 'tiny', pricing: null }, noTokens);
  const job = { requestId, accountId, apiKeyId, modelId: 'tiny' };
  expect(
    await new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma)).admit(prisma, [
      { job, quote },
    ]),
  ).toEqual([null]);
  if (amountNano !== null) {
    const lines = [
      { sku: 'tiny-llm-output-mtoken', units: '0.0015', unitPriceNano: '500000000000', amountNano: String(amountNano) },
    ];
    await prisma.$executeRaw`SELECT ledger_close(${requestId}, 1, 'settled', ${JSON.stringify(lines)}::jsonb)`;
    await prisma.$executeRaw`UPDATE jobs SET state = 'succeeded', finished_at = now() WHERE request_id = ${requestId}`;
  }
  await prisma.$disconnect();
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

    expect(await run(['models', 'list'])).toMatch(/tiny-chat +text +XS +[\d.]+ kB +pinned +unknown/);
    expect(await run(['models', 'offline', 'tiny-chat'])).toContain('taken offline');
    expect(await run(['models', 'list'])).toMatch(/tiny-chat .*taken offline/);
    expect(await runJson('models', 'show', 'tiny-chat')).toMatchObject({ disabled: true, registered: true });
    expect(await runJson('models', 'offline', 'tiny-chat', '--undo')).toEqual({ id: 'tiny-chat', disabled: false });

    expect(await runJson('models', 'remove', 'tiny-chat')).toMatchObject({ filesRemoved: true, unregistered: true });
    expect(existsSync(join(home, 'models', 'tiny-chat'))).toBe(false);
    await expect(run(['models', 'show', 'tiny-chat'])).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });

  it.each([
    ['an encoder', tinyBertFolder, { type: 'embedding', kindMembers: { maxInputTokens: 128 } }],
    ['a reranker', tinyRerankerFolder('tiny-bert-reranker'), { type: 'rerank', kindMembers: { maxInputTokens: 260 } }],
  ])('adds %s from the folder of its weights', async (_name, folder, expected) => {
    const added = await runJson('models', 'add', fileURLToPath(folder), '--id', 'own', '--pull');
    const manifest = { ...expected, converter: { kind: 'bert' } };
    expect(added).toMatchObject({ id: 'own', pulled: true, manifest });
    expect(existsSync(join(home, 'models', 'own', 'model.onnx'))).toBe(true);
    await run(['models', 'remove', 'own']);
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

  it('finds an open model, and pulls and registers it by its name', async () => {
    const folder = join(home, 'checkpoint');
    await mkdir(folder);
    await copyTinyDecoder('llama', folder);
    const names = await readdir(folder);
    const files = names.map(async (name) => [name, await readFile(join(folder, name))] as const);
    hub.addRepository('HuggingFaceTB/SmolLM2-360M-Instruct', commit, Object.fromEntries(await Promise.all(files)));
    const find = async () => (await runJson('models', 'search', 'SmolLM2-360M', '--purpose', 'chat'))['models'];
    const open = { id: 'smollm2-360m-instruct', license: 'Apache-2.0', tested: 'reference', fits: true };
    expect(await find()).toMatchObject([{ ...open, state: 'open' }]);

    const checked = await runMain(['models', 'search', 'smollm2-360m', '--check']);
    expect(checked).toMatchObject({ code: 1, stderr: expect.stringContaining('1 of 1 are not on the hub as') });
    expect(checked.stdout).toMatch(/smollm2-360m-instruct: context is 256, not 8192; .* at d{12}, [\d.]+ kB\)/);

    await run(['models', 'pull', 'smollm2-360m-instruct']);
    expect(await find()).toMatchObject([{ ...open, state: 'installed' }]);
    expect(await runJson('models', 'show', 'smollm2-360m-instruct')).toMatchObject({
      manifest: { license: 'Apache-2.0', sources: [{ uri: `hf:HuggingFaceTB/SmolLM2-360M-Instruct@${commit}` }] },
      registered: true,
    });
    expect(await run(['models', 'search', 'tts'])).toMatch(/^kokoro-82m +tts +– .* run +bundled/m);
    expect(await run(['models', 'search', 'nothing', 'such'])).toContain('No model matches.');
    await expect(run(['models', 'search', '--purpose', 'x'])).rejects.toThrow('--purpose must be one of chat, ');
    await expect(run(['models', 'add', 'qwen9'])).rejects.toThrow('There is no file, folder or open model qwen9.');
    await run(['models', 'remove', 'smollm2-360m-instruct']);
  });

  it('installs a folder of safetensors, and nothing of a damaged one', async () => {
    const source = join(home, 'Tiny-Own');
    await mkdir(source);
    await copyTinyDecoder('qwen3', source);
    const text = await run(['models', 'add', source, '--license', 'mit', '--dry-run'], withoutDatabase);
    expect(text).toMatch(/id: tiny-own[^]*license: mit[^]*kind: safetensors/);
    await run(['models', 'add', source, '--pull']);
    expect(existsSync(join(home, 'models', 'tiny-own', 'model.onnx'))).toBe(true);
    await run(['models', 'remove', 'tiny-own']);
    const weights = join(source, 'model.safetensors');
    const content = await readFile(weights);
    content.writeFloatLE(NaN, content.length - 4);
    await writeFile(weights, content);
    const damaged = run(['models', 'add', source], withoutDatabase);
    await expect(damaged).rejects.toThrow(
      /model\.safetensors cannot be converted: value \d+ of model\.\S+ at byte \d+ is NaN/,
    );
    expect(existsSync(join(home, 'models', 'tiny-own'))).toBe(false);
  });

  it('adds a LoRA adapter to its installed base, and nothing of one that does not fit', async () => {
    const source = join(home, 'Tiny-Base');
    await mkdir(source);
    await copyTinyDecoder('llama', source);
    const adapter = tinyAdapterFolder('llama', 'all');
    await expect(run(['models', 'add', adapter, '--pull'])).rejects.toThrow(/trained for tiny\/llama\..* with --base/);
    await run(['models', 'add', source, '--id', 'llama', '--pull', '--context', '128']);
    const text = await run(['models', 'add', adapter, '--id', 'tuned', '--dry-run']);
    expect(text).toMatch(/id: tuned[^]*adapterOf: llama[^]*kind: lora[^]*contextLength: 128/);
    const prices = { input: { usd: 2 } };
    const added = await runJson('models', 'add', adapter, '--id', 'tuned', '--pull', '--input-price', '2');
    expect(added).toMatchObject({ id: 'tuned', pulled: true, manifest: { adapterOf: 'llama', pricing: prices } });
    expect(existsSync(join(home, 'models', 'tuned', 'adapter.bin'))).toBe(true);
    const whole = run(['models', 'add', source, '--id', 'whole', '--base', 'llama']);
    await expect(whole).rejects.toThrow('--base is for LoRA adapters');
    const narrow = run(['models', 'add', adapter, '--id', 'narrow', '--weights', 'int8']);
    await expect(narrow).rejects.toThrow('--weights and --context are those of the base');

    const changed = join(home, 'changed');
    await mkdir(changed);
    await copyTinyAdapter('llama', 'all', changed);
    await editTensorList(join(changed, 'adapter_model.safetensors'), (entries) => {
      for (const entry of Object.values(entries)) if (entry.shape?.join() === '4,32') entry.shape = [2, 64];
    });
    const wrong = run(['models', 'add', changed, '--base', 'llama']);
    await expect(wrong).rejects.toThrow(/lora_A\.weight is 2 × 64, and the base needs 2 × 32/);
    expect(existsSync(join(home, 'models', 'changed'))).toBe(false);
    const removed = await runMain(['models', 'remove', 'llama']);
    expect(removed).toMatchObject({ code: 0, stderr: expect.stringContaining('tuned cannot be served without llama') });
    await run(['models', 'remove', 'tuned']);
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

  it('installs the manifests of a folder without a database, and registers them with one, as containers do', async () => {
    const folder = join(home, 'own models');
    await mkdir(folder);
    await writeFile(join(folder, 'README.md'), 'no manifest');
    expect(await run(['models', 'pull', 'none', '--manifests', folder], withoutDatabase)).toContain('nothing to pull');
    await writeFile(join(folder, 'model.onnx'), 'weights');
    const uri = `file:${join(folder, 'model.onnx')}`;
    const manifest = exampleManifest({ id: 'of-the-folder', sources: [{ uri, files: [] }] });
    await writeFile(join(folder, 'own.yaml'), JSON.stringify(manifest));
    const pull = ['models', 'pull', 'none,of-the-folder', '--manifests', folder, '--json'];
    expect(JSON.parse(await run(pull, withoutDatabase))).toMatchObject({
      models: [{ modelId: 'of-the-folder', status: 'installed' }],
    });
    expect(await readFile(join(home, 'models', 'of-the-folder', 'model.onnx'), 'utf8')).toBe('weights');
    expect(await runJson('models', 'sync', folder)).toEqual({ models: ['of-the-folder'], changed: ['of-the-folder'] });
    await expect(run(['models', 'pull', '--manifests', join(home, 'none')])).rejects.toThrow('There is no folder');
    await run(['models', 'remove', 'of-the-folder']);
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
    for (const source of ['./model.gguf', '/models/folder', 'hf:owner/model', 'https://host/model.gguf']) {
      await expect(run(['models', 'pull', source])).rejects.toThrow(`Add it: sluice models add ${source}`);
    }
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
    [['add', 'https://example.org/model.onnx'], 'is no .gguf file'],
    [['add', './nothing.gguf'], 'There is no file, folder or open model ./nothing.gguf. A source is'],
    [['add', import.meta.dirname], 'holds no graph such as'],
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
    const list = await run(['models', 'list'], withoutDatabase);
    expect(list).toMatch(/stories-15m[^]*tiny-here +text/);
    // Only other models call it: the API lists no state of it.
    expect(list).toMatch(/nsfw-mobilenet +image .* internal /);
    await expect(run(['models', 'offline', 'tiny-here'], withoutDatabase)).rejects.toThrow(/npm start.*DATABASE_URL/);
    await run(['models', 'remove', 'tiny-here'], withoutDatabase);
    expect(existsSync(join(home, 'models', 'tiny-here'))).toBe(false);
  });

  it('finds the database of the running installation through its home', async () => {
    const runtime = { databaseUrl: database.url, baseUrl: 'http://127.0.0.1:9/api/v1', pid: process.pid };
    await writeFile(join(home, 'runtime.json'), JSON.stringify(runtime));
    await run(['models', 'add', 'hf:owner/Tiny-Chat-ONNX', '--id', 'by-home', '--register'], withoutDatabase);
    expect(await run(['models', 'list'], withoutDatabase)).toMatch(/by-home +text +XS +– +pinned +unknown/);
    await run(['models', 'remove', 'by-home'], withoutDatabase);
  });

  it.each([
    ['whose process is gone', () => ({ pid: spawnSync(process.execPath, ['--eval', '']).pid })],
    ['whose process id belongs to another process now', () => ({ pid: process.ppid, started: 'before' })],
  ])('ignores the state file of a killed installation, %s', async (_state, identity) => {
    const urls = { databaseUrl: 'postgresql://nobody@127.0.0.1:9/none', baseUrl: 'http://127.0.0.1:9/api/v1' };
    const runtime = { ...urls, ...identity() };
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

  it('finds, renames, suspends, resumes and closes accounts', async () => {
    const { id } = await runJson('accounts', 'create', 'Looked For');
    const made = await runJson('keys', 'create', '--account', String(id));
    const key = String(made['key']);
    const found = async (text: string) => (await runJson('accounts', 'find', text))['accounts'];
    for (const text of ['looked f', String(id).slice(0, 13), key.slice(-6), key]) {
      expect(await found(text), text).toMatchObject([{ id, state: 'active' }]);
    }
    expect(await found('100%')).toEqual([]);
    expect(await runJson('accounts', 'rename', String(id), ' New Name ')).toEqual({ id, name: 'New Name' });
    const prisma = new PrismaService({ url: database.url, poolSize: 1 });
    const accounts = new AccountsService(new AccountsRepository(prisma));
    expect(await accounts.authenticate(key)).toMatchObject({ accountId: id });
    expect(await runJson('accounts', 'suspend', String(id))).toEqual({ id, state: 'suspended' });
    accounts.forgetKeys();
    const suspended = { code: 'UNAUTHORIZED', message: expect.stringContaining('is suspended') as string };
    await expect(accounts.authenticate(key)).rejects.toMatchObject(suspended);
    expect(await run(['accounts', 'show', String(id)])).toContain('New Name\nsuspended\n');
    await run(['accounts', 'resume', String(id)]);
    accounts.forgetKeys();
    expect(await accounts.authenticate(key)).toMatchObject({ accountId: id });
    await run(['credits', 'grant', '2', '--account', String(id)]);
    expect(await runMain(['accounts', 'close', String(id)])).toEqual({
      code: 0,
      stdout: `${String(id)}: closed, 1 keys revoked, 2.000000 USD left\n`,
      stderr: `next: sluice credits revoke 2.000000 --account ${String(id)}, after a refund\n`,
    });
    accounts.forgetKeys();
    await expect(accounts.authenticate(key)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED_INACTIVE_KEY' });
    for (const line of [['resume'], ['close'], ['beta']]) {
      await expect(run(['accounts', ...line, String(id)])).rejects.toThrow('Closing is final');
    }
    await expect(run(['keys', 'create', '--account', String(id)])).rejects.toThrow('Closing is final');
    await prisma.$disconnect();
  });

  it('does not close an account whose requests are open', async () => {
    const { id } = await runJson('accounts', 'create', 'busy');
    await run(['credits', 'grant', '2', '--account', String(id)]);
    const { id: apiKeyId } = await runJson('keys', 'create', '--account', String(id));
    await holdAndCharge(String(id), String(apiKeyId), null);
    await expect(run(['accounts', 'close', String(id)])).rejects.toThrow(
      /reserve 1\.000000\. Run sluice accounts suspend/,
    );
    expect(await runJson('accounts', 'show', String(id))).toMatchObject({ state: 'active' });
  });

  it('deletes an account without money, keeps its ledger and forgets whose it was', async () => {
    const { id } = await runJson('accounts', 'create', 'Jane of Example Street');
    const account = String(id);
    await run(['credits', 'grant', '2', '--account', account]);
    const { id: apiKeyId } = await runJson('keys', 'create', '--account', account, '--description', 'of Jane');
    await expect(run(['accounts', 'delete', account])).rejects.toThrow(
      `The account has 2.000000 USD left. Refund it, run sluice credits revoke 2.000000 --account ${account}`,
    );
    const prisma = new PrismaService({ url: database.url, poolSize: 1 });
    await prisma.wallet.create({ data: { address: `0x${'a1'.repeat(20)}`, accountId: account } });
    await run(['credits', 'revoke', '2', '--account', account]);
    const name = `deleted-${account.slice(0, 8)}`;
    expect(await runJson('accounts', 'delete', account)).toEqual({ id, state: 'closed', name, revokedKeys: 1 });
    expect(await runJson('accounts', 'show', account)).toMatchObject({ name, state: 'closed' });
    const kept = await Promise.all([
      prisma.wallet.count({ where: { accountId: account } }),
      prisma.ledgerTransaction.count({ where: { accountId: account } }),
      prisma.apiKey.count({ where: { id: String(apiKeyId), description: '', revokedAt: { not: null } } }),
    ]);
    expect(kept).toEqual([0, 2, 1]);
    expect(await runJson('ledger', 'verify')).toMatchObject({ consistent: true });
    await prisma.$disconnect();
  });

  it('does not delete an account whose requests are open', async () => {
    const { id } = await runJson('accounts', 'create', 'busy too');
    await run(['credits', 'grant', '2', '--account', String(id)]);
    const { id: apiKeyId } = await runJson('keys', 'create', '--account', String(id));
    await holdAndCharge(String(id), String(apiKeyId), null);
    await expect(run(['accounts', 'delete', String(id)])).rejects.toThrow(/reserve 1\.000000\..*delete it then/);
    expect(await runJson('accounts', 'show', String(id))).toMatchObject({ name: 'busy too', state: 'active' });
  });

  it('changes the limits of a key', async () => {
    const { id } = await runJson('accounts', 'create', 'changed');
    const { id: keyId } = await runJson('keys', 'create', '--account', String(id), '--limit-usd', '3');
    const set = (...options: string[]) => run(['keys', 'set-limits', String(keyId), ...options]);
    expect(await set('--limit-diem', '1', '--limit-period', 'MONTH')).toContain(
      '3.000000 USD, 1.000000 DIEM per month',
    );
    expect(await set('--limit-usd', 'none')).toContain(`${String(keyId)}: 1.000000 DIEM per month`);
    await expect(set()).rejects.toThrow('Name --limit-usd');
    await expect(set('--limit-usd', '-1')).rejects.toThrow('--limit-usd must be a decimal');
    await run(['keys', 'revoke', String(keyId)]);
    await expect(set('--limit-usd', '1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('shows what an account used, by model, key and day', async () => {
    const { id } = await runJson('accounts', 'create', 'user');
    const of = ['--account', String(id)];
    await run(['credits', 'grant', '2', ...of]);
    const { id: apiKeyId } = await runJson('keys', 'create', '--description', 'app', ...of);
    expect(await run(['usage', ...of])).toContain('nothing was used');
    await holdAndCharge(String(id), String(apiKeyId), 750_000_000n);
    expect(await run(['usage', ...of])).toMatch(/^tiny +1500 \S+ +0\.750000 +0\.000000$/m);
    expect(await run(['usage', '--by', 'key', ...of])).toMatch(/^app +1500 +0\.750000/m);
    expect(await run(['usage', '--by', 'day', '--days', '2', ...of])).toMatch(/^\d{4}-\d\d-\d\d +0\.750000/m);
    expect(await runJson('usage', ...of)).toMatchObject({ byModel: [{ modelName: 'tiny', usdNano: '750000000' }] });
    await expect(run(['usage', '--days', '91', ...of])).rejects.toThrow('--days must be');
  });

  it('takes the name of an account in place of its id, unless several have it', async () => {
    const { id } = await runJson('accounts', 'create', 'Named Once');
    await run(['credits', 'grant', '2', '--account', 'Named Once']);
    const of = ['--account', 'Named Once'];
    expect(await runJson('usage', ...of)).toMatchObject({ accountId: id });
    expect(await runJson('ledger', 'show', ...of)).toMatchObject({ accountId: id });
    expect(await runJson('keys', 'create', ...of)).toMatchObject({ accountId: id });
    expect(await runJson('limits', 'set', '--rpm', '5', ...of)).toMatchObject({ accountId: id });
    expect(await runJson('accounts', 'show', 'Named Once')).toMatchObject({ id });
    for (const line of [['set-tier', 'partner'], ['beta'], ['suspend'], ['resume'], ['rename', 'Named Twice']]) {
      const [command = '', ...rest] = line;
      const name = 'Named Once';
      expect(await runJson('accounts', command, name, ...rest)).toMatchObject({ id });
    }
    const { id: other } = await runJson('accounts', 'create', 'Named Twice');
    const ids = `2 accounts have the name Named Twice. Give an id: ${String(id)}, ${String(other)}.`;
    await expect(run(['usage', '--account', 'Named Twice'])).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: ids,
    });
    await expect(run(['accounts', 'close', 'Named Twice'])).rejects.toThrow(ids);
    expect(await runJson('usage', '--account', String(other))).toMatchObject({ accountId: other });
    await expect(run(['usage', '--account', 'named once'])).rejects.toThrow('There is no account named once');
  });

  it('names the next command after each, and only commands that exist', async () => {
    const { id } = await runJson('accounts', 'create', 'led on');
    const account = String(id);
    const { id: keyId } = await runJson('keys', 'create', '--account', account);
    const commands = [
      ['accounts', 'list'],
      ['accounts', 'find', 'led on'],
      ['accounts', 'show', account],
      ['accounts', 'rename', account, 'led further'],
      ['accounts', 'set-tier', account, 'partner'],
      ['accounts', 'beta', account],
      ['accounts', 'suspend', account],
      ['accounts', 'resume', account],
      ['credits', 'grant', '1', '--account', account],
      ['credits', 'revoke', '1', '--account', account],
      ['diem', 'set-stake', '0', '--account', account],
      ['keys', 'create', '--account', account],
      ['keys', 'list', '--account', account],
      ['keys', 'set-limits', String(keyId), '--limit-usd', '1'],
      ['keys', 'revoke', String(keyId)],
      ['accounts', 'close', account],
      ['accounts', 'delete', account],
    ];
    const program = createProgram(new CliContext(parseConfig(CliConfig, { SLUICE_HOME: home })));
    for (const line of commands) {
      const { code, stderr } = await runMain(line);
      const named = [...stderr.matchAll(/sluice ([a-z]+) ([a-z-]+)/g)];
      expect([code, /^next: /m.test(stderr), named.length > 0], line.join(' ')).toEqual([0, true, true]);
      for (const [, group, name] of named) {
        const found = program.commands.find((each) => each.name() === group);
        const isKnown =
          found !== undefined && (found.commands.length === 0 || found.commands.some((each) => each.name() === name));
        expect(isKnown, `${line.join(' ')}: sluice ${group} ${name}`).toBe(true);
      }
    }
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
    ...['rename', 'suspend', 'resume', 'close', 'delete'].map((name): [string[], string] => [
      ['accounts', name, 'nobody', ...(name === 'rename' ? ['x'] : [])],
      'There is no account nobody',
    ]),
    [['accounts', 'rename', 'nobody', ' '], 'The name must have'],
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
      expect(JSON.parse(await run(['migrate', '--json'], url))).toEqual({ applied: [], pools: [] });
    } finally {
      await empty.drop();
    }
  });

  it('requires a database and says so without one', async () => {
    await expect(run(['migrate'], withoutDatabase)).rejects.toThrow('set DATABASE_URL');
  });
});
