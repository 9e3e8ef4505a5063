import { PlatformError } from '#common';

/** Error for an invalid downloaded file. `file` is its name in the input folder, never a path. */
export function invalidFile(file: string, reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The file ${file} cannot be converted: ${reason}.`, file);
}
