import { PlatformError } from '#common';
import { isDiskFull } from '#platform/files';

export function mediaNotFound(): PlatformError {
  return new PlatformError('MEDIA_NOT_FOUND', 'This media does not exist or has expired.');
}

export function tooLarge(maxBytes: number): PlatformError {
  return new PlatformError('PAYLOAD_TOO_LARGE', `The media is larger than ${maxBytes} bytes.`);
}

/** The stored bytes differ from those written: a disk fault, or a foreign write to the store. */
export function damaged(): PlatformError {
  return new PlatformError('UNKNOWN_ERROR', 'The stored media is damaged.');
}

function storageFull(cause: unknown): PlatformError {
  return new PlatformError('STORAGE_FULL', 'The service has no room to store media at the moment.', null, { cause });
}

/** Maps a disk error to a message for clients. */
export function folderError(error: unknown): Error {
  if (error instanceof PlatformError) return error;
  if (error instanceof Error && error.name === 'AbortError') return error;
  if (isDiskFull(error)) return storageFull(error);
  return unavailable(error);
}

export function unavailable(cause: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The media storage does not answer at the moment.', null, { cause });
}

/** Error codes by which object stores report that they are full. */
export function objectStoreError(error: unknown): Error {
  if (error instanceof PlatformError) return error;
  if (!(error instanceof Error)) return unavailable(error);
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  if (status === 507 || /StorageFull|QuotaExceeded|NoSpace/i.test(error.name)) return storageFull(error);
  return unavailable(error);
}

/** Recognizes an error of the object store that its permissions cause. */
export function isDenied(error: unknown): boolean {
  return error instanceof PlatformError && error.cause instanceof Error && error.cause.name === 'AccessDenied';
}
