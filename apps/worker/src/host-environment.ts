import type { HostLoadOptions } from '#inference/host';
import { childEnvironment } from '#platform/config';

/** A host only computes; it gets no queue or storage credentials. */
const credentials = {
  SLUICE_QUEUE_URL: null,
  SLUICE_QUEUE_KEY: null,
  REDIS_URL: null,
  SLUICE_S3_ACCESS_KEY_ID: null,
  SLUICE_S3_SECRET_ACCESS_KEY: null,
};

/** The allocator settings of the worker, by which every large buffer is mapped anew: graphs allocate many per step. */
const allocatorSettings = { MALLOC_ARENA_MAX: null, MALLOC_MMAP_THRESHOLD_: null, MALLOC_TRIM_THRESHOLD_: null };

/**
 * Families that take whole images while their graphs allocate in the arena of onnxruntime. What glibc allocates in their
 * hosts are those images: by its usual settings it keeps a hundred megabytes of freed ones.
 */
const familiesOfImagesInTiles: readonly string[] = ['esrgan'];

/** Environment of the process of a host. */
export function hostEnvironment({ family }: Pick<HostLoadOptions, 'family'>): NodeJS.ProcessEnv {
  const returnsImages = familiesOfImagesInTiles.includes(family);
  return childEnvironment({ ...credentials, ...(returnsImages ? {} : allocatorSettings) });
}
