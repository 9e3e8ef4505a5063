import { PlatformError } from '#common';

/** An image that cannot be decoded. `problem` follows "The image". */
export function corruptedImage(problem: string, param: string | null = null, cause?: unknown): PlatformError {
  return new PlatformError('CORRUPTED_IMAGE', `The image ${problem}.`, param, { cause });
}
