const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** True for an error of the file system that has no room for a file: on the disk, in a quota, or at its largest size. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && fullCodes.has(String(error.code));
}
