import { PlatformError } from '#common';

/** Why a backup or a restore does not begin, and what to do about it. */
export function refuse(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message);
}

export function refuseFile(file: string, fault: string): PlatformError {
  return refuse(`${file} ${fault}: nothing was restored from it. Use another backup.`);
}
