import { trimOf } from '#platform/text';
import { scopeOfModel } from '../artifact.js';

/** A policy of S3, as AWS and MinIO read it. */
export interface StoragePolicy {
  Version: '2012-10-17';
  Statement: { Effect: 'Allow'; Action: string[]; Resource: string[] }[];
}

/** A multipart upload is a put too. Workers list and delete nothing. */
const actions = ['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload'];

/** Returns what workers of these models need of a storage (`SLUICE_STORAGE_URL`); null: it is no bucket. */
export function workerStoragePolicy(storageUrl: string | undefined, modelIds: readonly string[]): StoragePolicy | null {
  if (storageUrl?.startsWith('s3:') !== true) return null;
  const { bucket, prefix } = placeInBucket(storageUrl);
  const Resource = modelIds.map((modelId) => `arn:aws:s3:::${bucket}/${prefix}${scopeOfModel(modelId)}-*`);
  return { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: actions, Resource }] };
}

/** The bucket of an `s3:` URL and the prefix of its keys, which is empty or ends in `/`. */
export function placeInBucket(storageUrl: string): { bucket: string; prefix: string } {
  const { hostname: bucket, pathname } = new URL(storageUrl);
  const prefix = trimOf(pathname, '/');
  return { bucket, prefix: prefix === '' ? '' : `${decodeURIComponent(prefix)}/` };
}
