import { PlatformError } from '#common';

/** The refusal of a request that database or queue do not accept. */
export function serviceUnavailable(cause: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot take requests at the moment.', null, { cause });
}

/** Rethrows errors that clients may read, and hides all others. */
export function throwUnavailable(error: unknown): never {
  throw error instanceof PlatformError ? error : serviceUnavailable(error);
}
