import { PlatformError } from '#common';

/** The header that the messages name; the other name is accepted too. */
export const signInHeader = 'SIGN-IN-WITH-X';

/** Says why a sign-in is not accepted, in words for its client: everything but the account is the client's own. */
export function refusedSignIn(message: string, cause?: unknown): PlatformError {
  return new PlatformError('X402_INVALID_SIGN_IN', message, signInHeader, { cause });
}
