import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreFinding } from '#platform/health';
import type { StorageSettings } from './create-store.js';
import { Bucket } from './s3/bucket.js';
import { placeInBucket } from './s3/worker-policy.js';

const problem = (text: string): StoreFinding => ({ store: 'storage', severity: 'problem', text });

/**
 * Writes, reads, lists and deletes a probe where api and ops keep media. Never rejects: what fails is a finding. The probe has
 * no name of an artifact, so that nothing takes it for one.
 */
export async function examineStorage({ home, url, s3 }: StorageSettings): Promise<StoreFinding[]> {
  const name = `sluice-doctor-${randomBytes(6).toString('hex')}`;
  if (url?.startsWith('s3:') !== true) {
    return await examineFolder(url === undefined ? join(home, 'artifacts') : fileURLToPath(url), name);
  }
  const { bucket: bucketName, prefix } = placeInBucket(url);
  const bucket = new Bucket(bucketName, s3 ?? { region: 'us-east-1' });
  try {
    return await examineBucket(bucket, { bucketName, prefix, name });
  } finally {
    await bucket.close();
  }
}

async function examineFolder(folder: string, name: string): Promise<StoreFinding[]> {
  const path = join(folder, name);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(path, name, { mode: 0o600 });
    await readFile(path);
    return [];
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return [
      problem(`The folder of media cannot be written (${reason}): give it to the user of the processes, and room.`),
    ];
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

async function examineBucket(
  bucket: Bucket,
  { bucketName, prefix, name }: { bucketName: string; prefix: string; name: string },
): Promise<StoreFinding[]> {
  const key = `${prefix}${name}`;
  const steps: [right: string, run: () => Promise<void>][] = [
    ['PutObject', () => bucket.put(key, Buffer.from(name), 'text/plain')],
    ['GetObject', () => readProbe(bucket, key)],
    ['ListBucket', () => listProbe(bucket, prefix)],
    ['AbortMultipartUpload', () => abortProbe(bucket, key)],
    ['ListBucketMultipartUploads', async () => void (await bucket.openUploads(prefix))],
    ['DeleteObject', () => bucket.delete(key)],
  ];
  const findings: StoreFinding[] = [];
  for (const [right, run] of steps) {
    const reason = await run().then(
      () => null,
      (error: unknown) => reasonOf(error),
    );
    if (reason === null) continue;
    // Some servers know no such calls; a rule of the bucket ends unfinished uploads there.
    const isOptional = right === 'ListBucketMultipartUploads' || /MethodNotAllowed|NotImplemented/.test(reason);
    const remedy = isOptional
      ? 'end unfinished uploads by a rule of the bucket'
      : 'give api and ops this right on the prefix (docs/operate/storage.md)';
    const text = `${right} fails on the bucket ${bucketName} (${reason}): ${remedy}.`;
    findings.push(isOptional ? { store: 'storage', severity: 'note', text } : problem(text));
    // A server that is not there fails everything else, too.
    if (right === 'PutObject' && !/AccessDenied|403/.test(reason)) return findings;
  }
  return findings;
}

async function readProbe(bucket: Bucket, key: string): Promise<void> {
  const body = await bucket.get(key);
  body?.resume();
  if (body === null) throw new Error('the object just written is missing');
}

async function listProbe(bucket: Bucket, prefix: string): Promise<void> {
  for await (const _name of bucket.list(prefix)) return;
}

async function abortProbe(bucket: Bucket, key: string): Promise<void> {
  await bucket.abortUpload(await bucket.startUpload(key, 'text/plain'));
}

/** The name of the error at the server, without the addresses that its message may have. */
function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  const source = cause instanceof Error ? cause : (error as Error);
  const code = (source as NodeJS.ErrnoException).code;
  return code ?? (source.name === 'Error' ? source.message : source.name);
}
