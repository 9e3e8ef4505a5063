import type { HostLoadOptions } from '#inference/host';
import { mattingFamilies } from '#model-registry/matting';
import { environmentWithoutSecrets } from '#platform/config';

/** The allocator settings of the worker, by which every large buffer is mapped anew: graphs allocate many per step. */
const allocatorSettings = { MALLOC_ARENA_MAX: null, MALLOC_MMAP_THRESHOLD_: null, MALLOC_TRIM_THRESHOLD_: null };

/** Mapped buffers get pages of 2 MB where the kernel has them on request, which costs less than by pages of 4 kB. */
const hugePages = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };

/**
 * Families that take whole images. By its usual settings, glibc keeps a hundred megabytes and more of freed images and
 * tensors: they lie among small objects, which stay. `rife` is not among them: its tensors are small, and new pages for
 * them take half of its processor time again.
 */
const familiesOfImages: readonly string[] = ['esrgan', 'migan', ...mattingFamilies];

/** Families of diffusion, which take and free the same large buffers in every step. */
const familiesOfSteps: readonly string[] = ['stable-diffusion', 'text-to-video-sd'];

/** The runtime sends nothing anywhere, whatever its build would. */
const quiet = { ORT_DISABLE_TELEMETRY: '1' };

/** Environment of the process of a host. It only computes, so it gets no secret; the addresses of the queue are such, too. */
export function hostEnvironment({ family }: Pick<HostLoadOptions, 'family'>): NodeJS.ProcessEnv {
  if (familiesOfImages.includes(family)) return environmentWithoutSecrets({}, { defaults: { ...hugePages, ...quiet } });
  const defaults = { ...(familiesOfSteps.includes(family) && hugePages), ...quiet };
  return environmentWithoutSecrets(allocatorSettings, { defaults });
}
