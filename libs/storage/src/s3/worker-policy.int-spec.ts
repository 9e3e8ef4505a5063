import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startS3, type TestS3 } from '#test/s3';
import type { S3Policy } from '#test/s3-policy';
import type { ArtifactStore } from '../artifact-store.js';
import { createArtifactStore, type StorageSettings } from '../create-store.js';
import { Bucket, type S3Settings } from './bucket.js';
import { workerStoragePolicy } from './worker-policy.js';

const unavailable = { code: 'SERVICE_UNAVAILABLE' };

describe('the storage policy of a pool', () => {
  let server: TestS3;
  let api: ArtifactStore;
  let settings: StorageSettings;
  let worker: ArtifactStore;

  beforeAll(async () => {
    server = await startS3();
    api = createArtifactStore(server.storage);
    const policy = workerStoragePolicy(server.storage.url, ['own', 'another-own']);
    if (policy === null) throw new Error('the storage is no bucket');
    settings = server.addUser(policy);
    worker = createArtifactStore(settings);
  });

  afterAll(async () => {
    await api.close();
    await worker.close();
    await server.close();
  });

  const put = (store: ArtifactStore, modelId: string, bytes: Uint8Array = Buffer.from(`of ${modelId}`)) =>
    store.ofModel(modelId).put(bytes, { kind: 'input', contentType: 'image/png' });

  it('is all that workers of its models need', async () => {
    await worker.ping();
    const { id: input } = await put(api, 'own');
    expect((await worker.read(input, 100)).bytes.toString()).toBe('of own');
    expect(await worker.withFile(input, async (_path, { bytes }) => bytes)).toBe(6);
    const large = randomBytes(9_000_000);
    for (const bytes of [Buffer.from('small'), large]) {
      const { id } = await put(worker, 'another-own', bytes);
      expect((await api.read(id, large.length)).bytes.equals(bytes)).toBe(true);
    }
    const reserved = api.ofModel('own').reserve('result');
    await worker.putReserved(reserved, Buffer.from('video'), { contentType: 'video/mp4' });
    expect((await api.read(reserved, 10)).bytes.toString()).toBe('video');
    const stop = new AbortController();
    async function* stopped() {
      yield Buffer.alloc(9_000_000);
      stop.abort();
      yield Buffer.alloc(1);
    }
    const options = { kind: 'result', contentType: 'video/mp4', signal: stop.signal } as const;
    await expect(worker.ofModel('own').put(stopped(), options)).rejects.toThrow();
  });

  it('lets workers tell an artifact that is gone from one that they may not read', async () => {
    const { id } = await put(api, 'own');
    await api.delete(id);
    const isGone = { code: 'MEDIA_NOT_FOUND' };
    expect(await worker.find(id)).toBeNull();
    await expect(worker.open(id)).rejects.toMatchObject(isGone);
    await expect(worker.read(id, 100)).rejects.toMatchObject(isGone);
  });

  it('does not take an artifact that a worker may not read for one that is gone', async () => {
    const { id } = await put(api, 'own');
    const { Statement = [] } = workerStoragePolicy(server.storage.url, ['own']) ?? {};
    const reduced = Statement.map((each) => ({ ...each, Action: ['s3:PutObject'] }));
    const writer = createArtifactStore(server.addUser({ Statement: reduced }));
    await expect(writer.read(id, 100)).rejects.toMatchObject(unavailable);
    await writer.close();
  });

  it('opens no artifact of another pool, although its id is known, and of no model', async () => {
    const { id: other } = await put(api, 'victim');
    const { id: ofNone } = await api.put(Buffer.from('x'), { kind: 'input', contentType: 'image/png' });
    for (const id of [other, ofNone]) {
      await expect(worker.find(id)).rejects.toMatchObject(unavailable);
      await expect(worker.open(id)).rejects.toMatchObject(unavailable);
      await expect(worker.read(id, 100)).rejects.toMatchObject(unavailable);
      await expect(worker.ofModel('own').copy(id, { kind: 'input' })).rejects.toMatchObject(unavailable);
      await expect(worker.putReserved(id, Buffer.from('y'), { contentType: 'a/b' })).rejects.toMatchObject(unavailable);
      await expect(worker.delete(id)).rejects.toMatchObject(unavailable);
    }
    await expect(put(worker, 'victim')).rejects.toMatchObject(unavailable);
    expect((await api.read(other, 100)).bytes.toString()).toBe('of victim');
  });

  it('copies nothing of another pool to a place of its own, lists nothing and deletes nothing', async () => {
    const { id } = await put(api, 'own');
    const { id: other } = await put(api, 'victim');
    const keys: string[] = [];
    const full = new Bucket('sluice-test', server.storage.s3 as S3Settings);
    for await (const folder of full.list('media/')) for await (const key of full.list(folder)) keys.push(key);
    const [source = '', place = ''] = [other, id].map((name) => keys.find((key) => key.endsWith(name)) ?? '');
    expect([source, place]).not.toContain('');
    const bucket = new Bucket('sluice-test', settings.s3 as S3Settings);
    await expect(bucket.copy(source, `${place}-copy`)).rejects.toMatchObject(unavailable);
    await expect(bucket.list('media/').next()).rejects.toMatchObject(unavailable);
    await expect(bucket.openUploads('media/')).rejects.toMatchObject(unavailable);
    await expect(bucket.delete(place)).rejects.toMatchObject(unavailable);
    await expect(worker.sweep()).rejects.toMatchObject(unavailable);
    await Promise.all([full.close(), bucket.close()]);
  });

  it('does not hide wrong keys', async () => {
    const s3 = { ...(settings.s3 as S3Settings), secretAccessKey: 'OTHER' };
    const wrong = createArtifactStore({ ...settings, s3 });
    await expect(wrong.ping()).rejects.toMatchObject(unavailable);
    await wrong.close();
  });

  it('lets the users of docker/compose.yaml do their work, and workers no more', async () => {
    const policyOf = async (user: string) => {
      const file = join(import.meta.dirname, '../../../../docker/compose/artifacts', `${user}.json`);
      return JSON.parse((await readFile(file, 'utf8')).replaceAll('sluice-artifacts', 'sluice-test')) as S3Policy;
    };
    const [ofApi, ofWorker] = await Promise.all(
      ['api', 'worker'].map(async (user) => createArtifactStore(server.addUser(await policyOf(user)))),
    );
    if (ofApi === undefined || ofWorker === undefined) throw new Error('there are two users');
    await Promise.all([ofApi.ping(), ofWorker.ping(), ofApi.sweep()]);
    const { id } = await put(ofApi, 'any');
    const { id: result } = await put(ofWorker, 'any', Buffer.from('result'));
    expect((await ofWorker.read(id, 100)).bytes.toString()).toBe('of any');
    expect((await ofApi.copy(result, { kind: 'result' })).bytes).toBe(6);
    await expect(ofWorker.delete(id)).rejects.toMatchObject(unavailable);
    await expect(ofWorker.sweep()).rejects.toMatchObject(unavailable);
    await ofApi.delete(id);
    expect(await ofApi.find(id)).toBeNull();
    await Promise.all([ofApi.close(), ofWorker.close()]);
  });

  it('is none for a folder', () => {
    expect(workerStoragePolicy(undefined, ['own'])).toBeNull();
    expect(workerStoragePolicy('file:///srv/media', ['own'])).toBeNull();
  });
});
