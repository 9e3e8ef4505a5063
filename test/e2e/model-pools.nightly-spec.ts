import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import { itInFull, transportsFor } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { ChatStreamReader } from '../faults/chat-caller.js';
import { type FinishedCommand, startSluice } from './sluice-command.js';

/* Operators place models in pools with the built command line while the platform runs. */

interface Placements {
  placements: { modelId: string; pool: string; pinned: boolean; ready: number; workersOfPool: number }[];
  workers: { pools: string[]; models: { modelId: string; state: string; memory?: { cpu?: number } }[] }[];
}

describe.each(transportsFor('redis'))('models in pools, with the queue on %s', (transport) => {
  let platform: Platform;
  let home: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const manifests = ['resident', 'placed'].map((id) => deterministicManifest(id));
    for (const manifest of manifests) await installDeterministicModel(home, manifest);
    const env = { SLUICE_POOL: 'text,large' };
    platform = await startPlatform({ transport, home, manifests, unnamed: ['placed'], env });
  });

  afterAll(async () => {
    await stopConsistently(platform);
    await rm(home, { recursive: true, force: true });
  });

  async function sluice(...line: string[]): Promise<FinishedCommand> {
    const env = { PATH: process.env.PATH, SLUICE_HOME: home, DATABASE_URL: platform.databaseUrl };
    return await startSluice(['models', ...line], env).finished;
  }

  async function placement(): Promise<Placements> {
    return JSON.parse((await sluice('placement', '--json')).stdout) as Placements;
  }

  async function chat(model: string): Promise<{ status: number; code?: string }> {
    const response = await fetch(`${platform.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: '[[tokens=2]]' }] }),
    });
    const { error } = (await response.json()) as { error?: { code: string } };
    return { status: response.status, ...(error && { code: error.code }) };
  }

  async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (let time = 0; time < 150; time++) {
      if (await holds()) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`timed out after 30 s: ${what}\n${platform.log()}`);
  }

  const offline = { status: 503, code: 'MODEL_OFFLINE' };

  it('are loaded by the workers of the pool, serve requests, and unload without breaking streams when removed', async () => {
    expect(await chat('placed')).toEqual(offline);
    const placed = await sluice('place', 'placed', '--pool', 'text', '--pin');
    expect(placed.stderr).toBe('next: sluice models placement\n');
    expect(placed.stdout).toMatch(
      /^placed: placed in the pool text, pinned; (one worker is|no workers are) there now\n$/,
    );
    await until('the placed model serves requests', async () => (await chat('placed')).status === 200);

    await until(
      'ops has recorded the models of the worker',
      async () => (await placement()).placements[0]?.ready === 1,
    );
    const { placements, workers } = await placement();
    expect(placements).toMatchObject([{ modelId: 'placed', pool: 'text', pinned: true, workersOfPool: 1 }]);
    expect(workers.map(({ pools }) => pools)).toEqual([['text', 'large']]);
    expect(workers[0]?.models.map(({ modelId }) => modelId).sort()).toEqual(['placed', 'resident']);

    const stream = await ChatStreamReader.open(platform, {
      directives: 'tokens=150 delay=20',
      model: 'placed',
      text: 'On',
    });
    await stream.untilTokens(2);
    expect((await sluice('unplace', 'placed', '--pool', 'text')).stdout).toContain('no longer placed in text');
    await until('new requests are rejected', async () => (await chat('placed')).status === 503);
    expect(await chat('placed')).toEqual(offline);
    await stream.ended;
    expect([stream.isComplete, stream.tokens, stream.errorCode]).toEqual([true, 150, null]);
    expect(await chat('resident')).toEqual({ status: 200 });
    await platform.closedJobs();
    await expectInvariant(platform);
  });

  itInFull('are loaded again by a restarted worker', async () => {
    await sluice('place', 'placed', '--pool', 'large', '--replicas', '1');
    await until('the placed model serves requests', async () => (await chat('placed')).status === 200);
    await platform.kill('worker');
    await platform.start('worker');
    await until('it serves requests again', async () => (await chat('placed')).status === 200);
    await sluice('unplace', 'placed');
    await until('it is unloaded', async () => (await chat('placed')).status === 503);
    await platform.closedJobs();
    await expectInvariant(platform);
  });

  if (transport === 'postgres') describeRefusals(sluice);
});

/** The command line validates before it uses the database. */
function describeRefusals(sluice: (...line: string[]) => Promise<FinishedCommand>): void {
  it.each([
    [['place', 'placed'], /--pool/],
    [['place', 'nobody', '--pool', 'text'], /The registry has no model nobody/],
    [['place', 'placed', '--pool', 'Text!'], /A pool is named with/],
    [['place', 'placed', '--pool', 'text', '--replicas', 'two'], /--replicas must be a whole number/],
    [['unplace', 'placed', '--pool', 'text'], /placed is not placed in the pool text/],
  ])('are rejected: %j', async (line, message) => {
    const { code, stdout, stderr } = await sluice(...line);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
  });
}
