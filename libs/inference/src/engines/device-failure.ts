import { PlatformError } from '#common';

/** What runtimes say when the device, or its memory, is gone. After that, nothing this process computes counts. */
const deviceFailure =
  /out of memory|bad_alloc|failed to allocate|cuda (?:error|failure)|cudnn|cublas|device (?:was )?(?:lost|removed|hung)/i;

/** The failure of a run: `DEVICE_LOST` where the device failed and not the request, else what it already is. */
export function asRunFailure(error: unknown): PlatformError {
  const failure = PlatformError.from(error, 'INFERENCE_FAILED');
  if (failure.code !== 'INFERENCE_FAILED') return failure;
  const causes = [failure, failure.cause].filter((cause) => cause instanceof Error);
  if (!causes.some(({ message }) => deviceFailure.test(message))) return failure;
  return new PlatformError('DEVICE_LOST', 'The device of the model failed. Try again.', null, { cause: failure });
}
