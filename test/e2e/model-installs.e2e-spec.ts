import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { exampleManifest } from '#test/example-manifest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyModel } from '#test/tiny-models';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { WeightsServer } from '#test/weights-server';
import { startSluice } from './sluice-command.js';

/* Models that an operator asks for by the Admin API, installed by the built ops beside a running platform. */

const weights = createHash('shake256', { outputLength: 3_000_000 }).update('weights').digest();
const commit = 'f'.repeat(40);
const withinMs = 120_000;
const pool = 'own';

let home: string;
let hub: WeightsServer;
let platform: Platform;

beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'sluice-installs-')));
  hub = await WeightsServer.start();
  hub.addRepository('owner/large', commit, { 'onnx/model.onnx': weights, 'config.json': Buffer.from('{}') });
  const files = [
    { path: 'onnx/model.onnx', bytes: weights.length },
    { path: 'config.json', bytes: 2 },
  ];
  const sources = [{ uri: `hf:owner/large@${commit}`, files }];
  // Registered and never placed, so that no worker loads what is no graph.
  const large = exampleManifest({ id: 'large', internal: true, graphFile: 'onnx/model.onnx', sources });
  const ops = { SLUICE_MODEL_INSTALLS: 'true', HF_ENDPOINT: hub.url };
  const manifests = [await installTinyModel(home), large];
  platform = await startPlatform({
    engine: 'text',
    home,
    manifests,
    unnamed: ['large'],
    env: { SLUICE_POOL: pool },
    processEnv: { ops },
  });
  await mkdir(join(home, 'import', 'tiny'), { recursive: true });
  await copyTinyDecoder('llama', join(home, 'import', 'tiny'));
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await hub?.close();
    await rm(home, { recursive: true, force: true });
  }
});

interface Row {
  id: string;
  state: string;
  model: string | null;
  attempt: number;
  error: { message: string } | null;
}

async function admin(method: 'GET' | 'POST', path: string, body?: object) {
  const response = await fetch(`${platform.origin}/api/admin/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${platform.adminKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Row & { issues?: { path: string[] }[] } };
}

async function untilState(id: string, state: string): Promise<Row> {
  const read = async () => (await admin('GET', `model_installations/${id}`)).body;
  const stateOf = ({ state: reached, error }: Row) => `${reached} ${error?.message ?? ''}`;
  await expect.poll(async () => stateOf(await read()), { timeout: withinMs }).toMatch(new RegExp(`^${state} `));
  return await read();
}

describe('a model that an operator asks for', () => {
  it('is installed from the import folder, served and shown, with one request', async () => {
    const created = await admin('POST', 'model_installations', { reference: './tiny', id: 'own-llama', pool });
    expect(created).toMatchObject({ status: 200, body: { state: 'waiting', model: null } });
    expect(await untilState(created.body.id, 'installed')).toMatchObject({ model: 'own-llama', attempt: 1 });
    const chat = () =>
      fetch(`${platform.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'own-llama', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4 }),
      }).then(({ status }) => status);
    await expect.poll(chat, { timeout: withinMs }).toBe(200);
    const env = { ...process.env, SLUICE_HOME: home, DATABASE_URL: platform.databaseUrl };
    const { stdout } = await startSluice(['models', 'installations', '--json'], env).finished;
    expect(JSON.parse(stdout)).toMatchObject({
      installations: [{ reference: './tiny', modelId: 'own-llama', state: 'installed' }],
    });
  });

  it('is refused at once where nothing can come of it', async () => {
    const refuse = async (body: object) => {
      const answer = await admin('POST', 'model_installations', body);
      return [answer.status, answer.body.issues?.[0]?.path[0]];
    };
    expect(await refuse({ reference: '../secret.gguf' })).toEqual([400, 'reference']);
    expect(await refuse({ reference: 'hf:owner name' })).toEqual([400, 'reference']);
    expect(await refuse({ reference: `${hub.url}/a.gguf` })).toEqual([400, 'reference']);
    expect(await refuse({ reference: 'large', weights: 'int4' })).toEqual([400, 'weights']);
    expect(await refuse({ reference: './tiny', tier: 'HUGE' })).toEqual([400, 'tier']);
    expect(await refuse({ reference: './tiny', strange: 1 })).toEqual([400, 'strange']);
  });

  // In quick runs, installs.int-spec.ts holds it on the parts of ops.
  itInFull('goes on in the next ops where one was killed', async () => {
    const graph = `/owner/large/resolve/${commit}/onnx/model.onnx`;
    hub.stalls.set(graph, [1_000_000]);
    const { body } = await admin('POST', 'model_installations', { reference: 'large' });
    const partial = join(home, 'models', '.partial-large', 'input', 'onnx', 'model.onnx.part');
    const received = async () => (existsSync(partial) ? (await stat(partial)).size : 0);
    await expect.poll(received, { timeout: withinMs }).toBe(1_000_000);
    await platform.kill('ops');
    await platform.start('ops');
    expect(await untilState(body.id, 'installed')).toMatchObject({ model: 'large', attempt: 2 });
    expect(hub.requestsOf(graph).map(({ range }) => range)).toEqual([null, 'bytes=1000000-']);
  });
});
