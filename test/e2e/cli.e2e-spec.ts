import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyMusicgen, installTinyTextToVideo } from '#test/tiny-generators';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { installTinyModel } from '#test/tiny-models';
import { tinyRerankerFolder } from '#test/tiny-reranker';
import { WeightsServer } from '#test/weights-server';
import { startSluice } from './sluice-command.js';

/* The built command line in processes of its own, as operators run it. */

const weights = createHash('shake256', { outputLength: 3_000_000 }).update('weights').digest();
const commit = 'e'.repeat(40);

let home: string;
let database: TestDatabase;
let hub: WeightsServer;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice cli '));
  database = await createMigratedDatabase();
  hub = await WeightsServer.start();
  hub.addRepository('owner/large', commit, {
    'onnx/model.onnx': weights,
    'config.json': Buffer.from('{"max_position_embeddings":64}'),
  });
});

afterAll(async () => {
  await hub?.close();
  await database?.drop();
  await rm(home, { recursive: true, force: true });
});

interface Diagnosis {
  machine: { memoryBytes: number };
  runtime: { version: string };
  providers: { sameRows?: object[] }[];
  models: object[];
}

/** nvidia-smi output of a machine with a GPU, because none is available. */
const driverText = `<nvidia_smi_log><driver_version>570.86.15</driver_version><cuda_version>12.8</cuda_version>
<gpu><product_name>NVIDIA H200</product_name><mig_mode><current_mig>Disabled</current_mig></mig_mode>
<fb_memory_usage><total>143771 MiB</total><used>512 MiB</used></fb_memory_usage></gpu></nvidia_smi_log>`;

async function fakeDriver(): Promise<string> {
  const folder = join(home, 'fake driver');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'nvidia-smi'), `#!/bin/sh\ncat <<'END'\n${driverText}\nEND\n`, { mode: 0o755 });
  return folder;
}

const start = (...line: string[]) => startIn({}, ...line);

function startIn(environment: Record<string, string>, ...line: string[]): ReturnType<typeof startSluice> {
  const ours = { SLUICE_HOME: home, DATABASE_URL: database.url, HF_ENDPOINT: hub.url };
  return startSluice(line, { ...process.env, ...ours, ...environment });
}

const run = (...line: string[]) => start(...line).finished;

async function untilReceived(path: string, bytes: number): Promise<void> {
  while (!existsSync(path) || (await stat(path)).size < bytes) await new Promise((done) => setTimeout(done, 20));
}

describe('the command line', () => {
  it('loads an installed model in a host of its own and measures it', async () => {
    await installTinyModel(home);
    const { code, stdout, stderr } = await run('models', 'check', 'tiny-llama', '--max-tokens', '8', '--json');
    expect(code, stderr).toBe(0);
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(result).toMatchObject({ id: 'tiny-llama', provider: 'cpu', text: expect.any(String) as string });
    expect(result['completionTokens']).toBeGreaterThan(0);
    expect(result['promptTokens']).toBeGreaterThan(0);
  });

  itInFull('measures what a model loses against another precision of its weights', async () => {
    const folder = join(home, 'tiny-decoder');
    await mkdir(folder);
    await copyTinyDecoder('llama', folder);
    for (const weights of ['float32', 'int4']) {
      const added = await run('models', 'add', folder, '--id', `own-${weights}`, '--weights', weights, '--pull');
      expect(added.code, added.stderr).toBe(0);
    }
    const measure = async (...line: string[]) => {
      const { code, stdout, stderr } = await run('models', 'check', ...line, '--perplexity', '--json');
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout) as { perplexity: number; tokens: number; loss: { difference: number; error: number } };
    };
    const rounded = await measure('own-int4', '--beside', 'own-float32');
    const whole = await measure('own-float32', '--beside', 'own-float32');
    expect(rounded.tokens).toBeGreaterThan(500);
    // Of random weights: no token is likelier than another, so that rounding changes little.
    expect(whole).toMatchObject({ loss: { beside: 'own-float32', difference: 0, error: 0 } });
    expect(rounded.loss).toMatchObject({ perplexity: whole.perplexity });
    expect(rounded.perplexity).not.toBe(whole.perplexity);
    expect(Math.log(rounded.perplexity / whole.perplexity)).toBeCloseTo(rounded.loss.difference, 9);
    await writeFile(join(home, 'short.txt'), 'Hello.');
    const short = await run('models', 'check', 'own-int4', '--perplexity', '--text', join(home, 'short.txt'));
    expect(short.stderr).toMatch(/The text has \d+ tokens; a window has 128\./);
    const stray = await run('models', 'check', 'own-int4', '--beside', 'own-float32');
    expect(stray.stderr).toContain('--text and --beside belong to --perplexity.');
  });

  it('shows what this machine offers to models, without a database', async () => {
    await installTinyModel(home);
    const { code, stdout, stderr } = await startIn({ DATABASE_URL: '' }, 'doctor', '--json').finished;
    expect(code, stderr).toBe(0);
    const diagnosis = JSON.parse(stdout) as Diagnosis;
    expect(diagnosis.machine).toMatchObject({ node: process.version, nvidia: null });
    expect(diagnosis.machine.memoryBytes).toBeGreaterThan(2 ** 28);
    expect(diagnosis.runtime.version).toMatch(/^1\.\d+\.\d+$/);
    expect(diagnosis.providers).toEqual([
      { name: 'cuda', device: null, usable: false, note: expect.stringContaining('cuda skipped') as string },
      {
        name: 'webgpu',
        device: null,
        usable: false,
        note: expect.stringMatching(/^webgpu skipped: no device/) as string,
      },
      { name: 'cpu', device: null, usable: true, note: null, sameRows: expect.any(Array) as unknown[] },
    ]);
    // 8 bits in blocks of 32 are the same on every processor.
    const { sameRows = [] } = diagnosis.providers[2] ?? {};
    expect(sameRows).toContainEqual({ bits: 8, blockSize: 32, same: true });
    expect(sameRows).toHaveLength(4);
    expect(diagnosis.models).toContainEqual(expect.objectContaining({ id: 'tiny-llama', provider: 'cpu' }));
    const forPeople = await run('doctor');
    expect(forPeople.stdout).toMatch(/^cuda +– +not used +cuda skipped/m);
    expect(forPeople.stdout).toMatch(/^tiny-llama +\S+ \S+ +cpu$/m);
  });

  itInFull('fails on a machine where no provider of the list works', async () => {
    await installTinyModel(home);
    const { code, stdout, stderr } = await startIn({ SLUICE_PROVIDERS: 'cuda' }, 'doctor').finished;
    expect(code, stderr).toBe(1);
    expect(stdout).toMatch(/^tiny-llama +\S+ \S+ +nothing works$/m);
    expect(stdout).toMatch(
      /^! No provider of SLUICE_PROVIDERS \(cuda\) works here, so no model is loaded: cuda skipped/m,
    );
    expect(stdout).not.toContain('No problems found');
    const asJson = await startIn({ SLUICE_PROVIDERS: 'cuda' }, 'doctor', '--json').finished;
    const { models, providers } = JSON.parse(asJson.stdout) as Diagnosis;
    expect([asJson.code, providers.length]).toEqual([1, 1]);
    expect(models).toContainEqual(expect.objectContaining({ id: 'tiny-llama', provider: null }));
  });

  itInFull('names a GPU and what it lacks', async () => {
    const PATH = `${await fakeDriver()}${delimiter}${process.env.PATH}`;
    const { stdout } = await startIn({ PATH }, 'doctor').finished;
    expect(stdout).toMatch(/^GPU +NVIDIA H200, 536\.9 MB of 150\.8 GB taken$/m);
    expect(stdout).toMatch(/^driver +NVIDIA 570\.86\.15, CUDA up to 12\.8$/m);
    if (process.arch === 'x64') expect(stdout).toContain('! A GPU is here, but not the runtime’s CUDA libraries');
  });

  it('loads an embedding model and compares sentences', async () => {
    await installTinyEncoder(home);
    const { code, stdout, stderr } = await run('models', 'check', 'tiny-bert', '--provider', 'cpu', '--json');
    expect(code, stderr).toBe(0);
    const result = JSON.parse(stdout) as { tokensPerSecond: number; cosines: { similar: number; dissimilar: number } };
    expect(result).toMatchObject({ id: 'tiny-bert', provider: 'cpu', note: null, dimensions: 32 });
    expect(result.tokensPerSecond).toBeGreaterThan(0);
    for (const value of Object.values(result.cosines)) expect(Math.abs(value)).toBeLessThanOrEqual(1);
  });

  itInFull('adds a reranker from the folder of its weights, and scores documents', async () => {
    const folder = fileURLToPath(tinyRerankerFolder('tiny-modernbert-reranker'));
    const added = await run('models', 'add', folder, '--id', 'own-reranker', '--json');
    expect(added.code, added.stderr).toBe(0);
    expect(added.stderr).toContain('own-reranker: modernbert, safetensors, served as float32');
    const manifest = { type: 'rerank', family: 'cross-encoder', kindMembers: { maxInputTokens: 260 } };
    expect(JSON.parse(added.stdout)).toMatchObject({ id: 'own-reranker', pool: null, serving: false, manifest });
    const { code, stdout, stderr } = await run('models', 'check', 'own-reranker', '--provider', 'cpu');
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/score for "How many people live in Berlin\?"\n {2}[01]\.\d{3} of "Berlin has/);
  });

  itInFull('generates music and video, and writes the files to the given path', async () => {
    await installTinyMusicgen(home);
    await installTinyTextToVideo(home);
    const made = join(home, 'made');
    const check = async (id: string) => {
      const { code, stdout, stderr } = await run('models', 'check', id, '--prompt', 'rain', '--output', made, '--json');
      expect(code, stderr).toBe(0);
      return { found: JSON.parse(stdout) as Record<string, unknown>, bytes: await readFile(made) };
    };
    const music = await check('tiny-musicgen');
    expect(music.found).toMatchObject({ provider: 'cpu', seconds: 4, sampleRate: 32_000, output: made });
    expect(music.bytes).toHaveLength(44 + 4 * 64_000);
    const video = await check('tiny-text-to-video');
    expect(video.found).toMatchObject({ frames: 8, width: 32, height: 32, stepMs: expect.any(Number) as number });
    expect(video.bytes.toString('latin1', 1, 4)).toBe('PNG');
  });

  it('resumes a killed pull, and lets two concurrent pulls share the rest', async () => {
    const graph = `/owner/large/resolve/${commit}/onnx/model.onnx`;
    hub.stalls.set(graph, [1_000_000]);
    const killed = start('models', 'add', 'hf:owner/large', '--id', 'large', '--pull');
    const partial = join(home, 'models', '.partial-large', 'input', 'onnx', 'model.onnx.part');
    await untilReceived(partial, 1_000_000);
    killed.child.kill('SIGKILL');
    await killed.finished;
    expect(existsSync(join(home, 'models', 'large'))).toBe(false);

    const both = await Promise.all([1, 2].map(() => run('models', 'pull', 'large', '--json')));
    for (const { code, stderr } of both) expect(code, stderr).toBe(0);
    const statuses = both.map(
      ({ stdout }) => (JSON.parse(stdout) as { models: { status: string }[] }).models[0]?.status,
    );
    expect(new Set(statuses)).toEqual(new Set(['installed', 'present']));
    expect(hub.requestsOf(graph).map(({ range }) => range)).toEqual([null, 'bytes=1000000-']);
    const installed = await readFile(join(home, 'models', 'large', 'onnx', 'model.onnx'));
    expect(installed.equals(weights)).toBe(true);
  });

  it('stops cleanly at Ctrl-C and keeps its progress', async () => {
    hub.addRepository('owner/other', commit, { 'onnx/model.onnx': weights, 'config.json': Buffer.from('{}') });
    const graph = `/owner/other/resolve/${commit}/onnx/model.onnx`;
    hub.stalls.set(graph, [500_000]);
    const stopped = start('models', 'add', 'hf:owner/other', '--id', 'other', '--pull');
    const partial = join(home, 'models', '.partial-other', 'input', 'onnx', 'model.onnx.part');
    await untilReceived(partial, 500_000);
    stopped.child.kill('SIGINT');
    expect(await stopped.finished).toMatchObject({ code: 1, stderr: expect.stringContaining('Stopped') as string });
    expect(existsSync(join(home, 'models', '.lock-other'))).toBe(false);
    expect((await stat(partial)).size).toBe(500_000);
  });

  it('exits with 1 and one plain line for a failure', async () => {
    const { code, stdout, stderr } = await run('models', 'show', 'nothing');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^sluice: No model is called "nothing"\. There are: .*\n$/);
  });
});
