import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { TemporaryFolder } from '#platform/files';
import { ArtifactIdFactory } from '../artifact-id-factory.js';
import { artifactPath, newArtifactId } from '../artifact.js';
import { MovableClock } from '../artifact-store.conformance.js';
import type { Bucket, OpenUpload, Upload } from './bucket.js';
import { S3Store } from './s3.store.js';

const hourMs = 3_600_000;

describe('a store in a bucket', () => {
  it('aborts its own abandoned uploads, and no others', async () => {
    const clock = new MovableClock();
    const expiresAtMs = clock.nowMs() + 24 * hourMs;
    const id = newArtifactId('result', expiresAtMs);
    const path = artifactPath(id, expiresAtMs);
    const upload = (key: string, ageMs: number): OpenUpload => ({
      key,
      uploadId: key,
      startedAtMs: clock.nowMs() - ageMs,
    });
    const uploads = [
      upload(`media/${path}`, 2 * hourMs),
      upload(`media/${artifactPath(newArtifactId('input', expiresAtMs), expiresAtMs)}`, hourMs / 2),
      upload('media/backup.tar', 2 * hourMs),
      upload(`media/other/${id}`, 2 * hourMs),
      upload(`media/${path}/part`, 2 * hourMs),
    ];
    const ended: string[] = [];
    const bucket = {
      async *list() {
        yield* await Promise.resolve<string[]>([]);
      },
      openUploads: () => Promise.resolve(uploads),
      abortUpload: ({ key }: Upload) => Promise.resolve(void ended.push(key)),
    } as unknown as Bucket;
    await new S3Store(bucket, 'media/', new ArtifactIdFactory(undefined, clock)).sweep();
    expect(ended).toEqual([`media/${path}`]);
  });

  it('provides files where the next start finds those of a killed process', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-lent-'));
    try {
      const artifactIds = new ArtifactIdFactory();
      const id = artifactIds.newId('input');
      const record = artifactIds.record(id, { contentType: 'a/b', bytes: 1, sha256: await sha256('x') });
      const bucket = {
        get: (key: string) =>
          Promise.resolve(Readable.from([Buffer.from(key.endsWith('.json') ? JSON.stringify(record) : 'x')])),
      } as unknown as Bucket;
      const store = new S3Store(bucket, '', artifactIds, new TemporaryFolder(directory));
      const lent = await store.withFile(id, (path) => Promise.resolve(dirname(path)));
      expect(lent.startsWith(join(directory, `${process.pid}-`))).toBe(true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

async function sha256(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(text))).toString('hex');
}
