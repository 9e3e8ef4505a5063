import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { type ArtifactStore, createArtifactStore } from '#storage';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import type { VoiceCloning } from '#model-registry/manifest';
import { testDouble } from '#test/test-double';
import type { SpeechModel } from './speech.model.js';
import { maxVoices, VoicesService } from './voices.service.js';
import { VoicesRepository } from './voices.repository.js';

const dayMs = 86_400_000;
const recording = { bytes: Buffer.from('a recording'), contentType: 'audio/wav' };

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let home: string;
let artifacts: ArtifactStore;
let voices: VoicesService;
let owner: string;
let unauthenticatedClient: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4 });
  client = new pg.Client(database.url);
  await client.connect();
  home = await mkdtemp(join(tmpdir(), 'sluice-voices-'));
  artifacts = createArtifactStore({ home });
  voices = new VoicesService(new VoicesRepository(prisma), artifacts, testDouble({ warn: () => undefined }));
});
afterAll(async () => {
  await prisma.$disconnect();
  await client.end();
  await database.drop();
  await rm(home, { recursive: true, force: true });
});

beforeEach(async () => {
  [owner, unauthenticatedClient] = [randomUUID(), randomUUID()];
  await client.query(`INSERT INTO accounts (id, name) VALUES ($1, 'owner'), ($2, 'another')`, [
    owner,
    unauthenticatedClient,
  ]);
});

function model(mode: VoiceCloning['mode'] = 'zero_shot', id = 'cloner'): SpeechModel & { cloning: VoiceCloning } {
  const cloning: VoiceCloning = { mode, accepted_formats: ['wav'], min_sample_seconds: 1, retention_days: 7 };
  return { id, voices: [], cloning, formats: ['mp3'], defaultFormat: 'mp3' };
}

async function expiresInDays(id: string): Promise<number> {
  const sql = `SELECT extract(epoch FROM expires_at - now()) / 86400 AS days FROM cloned_voices WHERE id = $1`;
  const { rows } = await client.query<{ days: string }>(sql, [id]);
  return Number(rows[0]?.days);
}

describe('VoicesService', () => {
  it('finds a voice for its account and its model only', async () => {
    const { id, sampleId } = await voices.add(recording, { accountId: owner, model: model() });
    expect(await voices.sampleOf(owner, id, 'cloner')).toBe(sampleId);
    expect(await voices.sampleOf(unauthenticatedClient, id, 'cloner')).toBeNull();
    expect(await voices.sampleOf(owner, id, 'another')).toBeNull();
    expect(await voices.sampleOf(owner, `${id}x`, 'cloner')).toBeNull();
    expect((await artifacts.read(sampleId, 100)).bytes.toString()).toBe('a recording');
  });

  it('expires a zero-shot voice seven days after its upload, however often it is used', async () => {
    const { id } = await voices.add(recording, { accountId: owner, model: model() });
    await client.query(`UPDATE cloned_voices SET expires_at = now() + interval '2 days' WHERE id = $1`, [id]);
    await voices.used(owner, id, model());
    expect(await expiresInDays(id)).toBeCloseTo(2, 2);
    await client.query(`UPDATE cloned_voices SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
    expect(await voices.sampleOf(owner, id, 'cloner')).toBeNull();
  });

  it('expires a persistent voice seven days after its last use, and copies its recording at most once a day', async () => {
    const persistent = model('persistent');
    const { id, sampleId } = await voices.add(recording, { accountId: owner, model: persistent });
    await voices.used(owner, id, persistent);
    expect(await voices.sampleOf(owner, id, 'cloner')).toBe(sampleId);
    await client.query(`UPDATE cloned_voices SET expires_at = now() + interval '2 days' WHERE id = $1`, [id]);
    await Promise.all([voices.used(owner, id, persistent), voices.used(owner, id, persistent)]);
    expect(await expiresInDays(id)).toBeCloseTo(7, 2);
    const moved = (await voices.sampleOf(owner, id, 'cloner')) ?? '';
    expect(moved).not.toBe(sampleId);
    const record = await artifacts.find(moved);
    expect((record?.expiresAtMs ?? 0) - Date.now()).toBeGreaterThan(6.9 * dayMs);
    expect((await artifacts.read(sampleId, 100)).bytes.toString()).toBe('a recording');
  });

  it('keeps a voice and does not fail if its recording cannot be copied', async () => {
    const persistent = model('persistent');
    const { id, sampleId } = await voices.add(recording, { accountId: owner, model: persistent });
    await client.query(`UPDATE cloned_voices SET expires_at = now() + interval '2 days' WHERE id = $1`, [id]);
    const full: ArtifactStore = Object.assign(Object.create(artifacts) as ArtifactStore, {
      copy: () => Promise.reject(new PlatformError('STORAGE_FULL', 'There is no room.')),
      ofModel: () => full,
    });
    const warnings: string[] = [];
    const logger = { warn: (_facts: object, words: string) => void warnings.push(words) };
    await new VoicesService(new VoicesRepository(prisma), full, logger as unknown as Logger).used(
      owner,
      id,
      persistent,
    );
    expect(warnings).toEqual(['the lifetime of a used voice could not be extended']);
    expect(await voices.sampleOf(owner, id, 'cloner')).toBe(sampleId);
    await voices.used(owner, id, persistent);
    expect(await expiresInDays(id)).toBeCloseTo(7, 2);
  });

  it('deletes expired rows with the next upload', async () => {
    const { id } = await voices.add(recording, { accountId: owner, model: model() });
    await client.query(`UPDATE cloned_voices SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
    await voices.add(recording, { accountId: unauthenticatedClient, model: model() });
    expect(await expiresInDays(id)).toBeNaN();
  });

  it('limits the voices of an account', async () => {
    await client.query(
      `INSERT INTO cloned_voices (id, account_id, model_id, sample_id, expires_at)
       SELECT 'vv_' || $1 || n, $1::uuid, 'cloner', 'none', now() + interval '1 day' FROM generate_series(1, $2) n`,
      [owner, maxVoices],
    );
    await expect(voices.add(recording, { accountId: owner, model: model() })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
    await voices.add(recording, { accountId: unauthenticatedClient, model: model() });
  });
});
