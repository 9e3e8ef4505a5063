import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { type InstallingPlatform, startInstallingPlatform } from '#test/installing-platform';
import { largeBytesReceived, largeGraph } from '#test/large-model';
import type { Platform } from '#test/platform';
import type { WeightsServer } from '#test/weights-server';
import { startSluice } from './sluice-command.js';

/* Models that an operator asks for by the Admin API, installed by the built ops beside a running platform. */

const withinMs = 120_000;

let installing: InstallingPlatform;
let home: string;
let hub: WeightsServer;
let platform: Platform;

beforeAll(async () => {
  installing = await startInstallingPlatform();
  ({ home, hub, platform } = installing);
});

afterAll(() => installing?.close());

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
    const { pool } = installing;
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
    hub.stalls.set(largeGraph, [1_000_000]);
    const { body } = await admin('POST', 'model_installations', { reference: 'large' });
    await expect.poll(() => largeBytesReceived(home), { timeout: withinMs }).toBe(1_000_000);
    await platform.kill('ops');
    await platform.start('ops');
    expect(await untilState(body.id, 'installed')).toMatchObject({ model: 'large', attempt: 2 });
    expect(hub.requestsOf(largeGraph).map(({ range }) => range)).toEqual([null, 'bytes=1000000-']);
  });
});
