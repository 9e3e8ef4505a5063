import { PlatformError } from '#common';

const storageCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** A failed download or installation, with a message an operator can act on. */
export function pullError(message: string, cause?: unknown): PlatformError {
  return new PlatformError('MODEL_PULL_FAILED', message, null, { cause });
}

export function isStorageFull(error: unknown): boolean {
  if (error instanceof PlatformError) return error.code === 'STORAGE_FULL';
  return error instanceof Error && storageCodes.has(String((error as NodeJS.ErrnoException).code));
}

/** True if a retry may help: a broken connection, not a wrong hash or a full disk. */
export class InterruptedDownloadError extends Error {
  override readonly name = 'InterruptedDownloadError';
}
