import { PlatformError } from '#common';

/**
 * Runtime error messages of a lost device or exhausted device memory. Results computed after such an error cannot be
 * trusted.
 */
const deviceFailure =
  /out of memory|bad_alloc|failed to allocate|cuda (?:error|failure)|cudnn|cublas|device (?:was )?(?:lost|removed|hung)/i;

/** Returns the error of a failed run: `DEVICE_LOST` if the device failed, otherwise the original error. */
export function asRunFailure(error: unknown): PlatformError {
  const failure = PlatformError.from(error, 'INFERENCE_FAILED');
  if (failure.code !== 'INFERENCE_FAILED') return failure;
  const causes = [failure, failure.cause].filter((cause) => cause instanceof Error);
  if (!causes.some(({ message }) => deviceFailure.test(message))) return failure;
  return new PlatformError('DEVICE_LOST', 'The device of the model failed. Try again.', null, { cause: failure });
}
