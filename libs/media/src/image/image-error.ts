import { PlatformError } from '#common';

/** A picture that cannot be decoded. `problem` follows "The picture". */
export function corruptedImage(problem: string, param: string | null = null, cause?: unknown): PlatformError {
  return new PlatformError('CORRUPTED_IMAGE', `The picture ${problem}.`, param, { cause });
}
