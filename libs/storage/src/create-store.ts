import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ArtifactIdFactory, defaultLifetimeMs } from './artifact-id-factory.js';
import type { ArtifactStore } from './artifact-store.js';
import { FolderStore } from './folder.store.js';
import { Bucket, type S3Settings } from './s3/bucket.js';
import { S3Store } from './s3/s3.store.js';
import { placeInBucket } from './s3/worker-policy.js';

/** Storage configuration of every process (`config.storage`). */
export interface StorageSettings {
  /** Absolute path of the home of this installation. */
  home: string;
  /** `file:///path` or `s3://bucket/prefix`; default: the folder `artifacts` of the home. */
  url?: string;
  /** Default lifetime of artifacts, in ms. Default: a day. */
  lifetimeMs?: number;
  /** Only for `s3:`. */
  s3?: S3Settings;
}

/** Creates the configured store without contacting it. */
export function createArtifactStore({ home, url, lifetimeMs = defaultLifetimeMs, s3 }: StorageSettings): ArtifactStore {
  const artifactIds = new ArtifactIdFactory(lifetimeMs);
  if (url === undefined) return new FolderStore(join(home, 'artifacts'), artifactIds);
  const { protocol } = new URL(url);
  if (protocol === 'file:') return new FolderStore(fileURLToPath(url), artifactIds);
  if (protocol !== 's3:') throw new TypeError(`${protocol} is not a supported storage.`);
  const { bucket, prefix } = placeInBucket(url);
  return new S3Store(new Bucket(bucket, s3 ?? { region: 'us-east-1' }), prefix, artifactIds);
}
