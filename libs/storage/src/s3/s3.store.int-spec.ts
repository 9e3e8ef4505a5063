import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startS3, type TestS3 } from '#test/s3';
import { ArtifactIdFactory } from '../artifact-id-factory.js';
import { describeArtifactStore, MovableClock } from '../artifact-store.conformance.js';
import { createArtifactStore } from '../create-store.js';
import { Bucket, type S3Settings } from './bucket.js';
import { S3Store } from './s3.store.js';

async function countObjects(bucket: Bucket, prefix: string): Promise<number> {
  let count = 0;
  for await (const key of bucket.list(prefix)) count += key.endsWith('/') ? await countObjects(bucket, key) : 1;
  return count;
}

describeArtifactStore('a bucket', async () => {
  const server = await startS3();
  const clock = new MovableClock();
  const bucket = new Bucket('sluice-test', server.storage.s3 as S3Settings);
  return {
    store: new S3Store(bucket, 'media/', new ArtifactIdFactory(undefined, clock)),
    clock,
    count: () => countObjects(bucket, 'media/'),
    close: async () => {
      await bucket.close();
      await server.close();
    },
  };
});

describe('a bucket that is unavailable', () => {
  let server: TestS3;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server.close());

  it.each([
    ['is unknown', { url: 's3://other-bucket' }, {}],
    ['has other keys', {}, { accessKeyId: 'OTHER' }],
    ['has another secret', {}, { secretAccessKey: 'OTHER' }],
    ['has no server', {}, { endpoint: 'http://127.0.0.1:9' }],
  ])('or %s, is reported without internal details', async (_why, change, s3) => {
    const settings = { ...server.storage, ...change };
    const store = createArtifactStore({ ...settings, s3: { ...(settings.s3 as S3Settings), ...s3 } });
    const unavailable = { code: 'SERVICE_UNAVAILABLE', message: 'The media storage does not answer at the moment.' };
    await expect(store.put(Buffer.from('x'), { kind: 'input', contentType: 'a/b' })).rejects.toMatchObject(unavailable);
    await store.close();
  });
});
