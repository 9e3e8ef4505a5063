import { PlatformError } from '#common';
import { outgoingProxy } from '#platform/config';

/** Codes of a connection that was not made, or broke. */
const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

const storageCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** A failed download or installation, with a message an operator can act on. */
export function pullError(message: string, cause?: unknown): PlatformError {
  const advice = proxyAdvice(cause);
  const text = advice === null ? message : `${message.replace(/\.$/, '')}. ${advice}`;
  return new PlatformError('MODEL_PULL_FAILED', text, null, { cause });
}

/** Says how to correct the proxy variables, where they may be why nothing answers: the failure names only the address. */
function proxyAdvice(cause: unknown): string | null {
  if (cause === undefined) return null;
  const proxy = outgoingProxy();
  if (proxy === null) return null;
  const { variable, host } = proxy;
  if (host === null) return `${variable} is not a URL such as http://proxy.example:3128: correct or unset it.`;
  if (!isConnectionFailure(cause)) return null;
  return `${variable} sends requests through ${host}: correct or unset it, or name hosts to reach directly in NO_PROXY.`;
}

function isConnectionFailure(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (connectionCodes.has(String((cause as NodeJS.ErrnoException).code))) return true;
  }
  return false;
}

export function isStorageFull(error: unknown): boolean {
  if (error instanceof PlatformError) return error.code === 'STORAGE_FULL';
  return error instanceof Error && storageCodes.has(String((error as NodeJS.ErrnoException).code));
}

/** True if a retry may help: a broken connection, not a wrong hash or a full disk. */
export class InterruptedDownloadError extends Error {
  override readonly name = 'InterruptedDownloadError';
}
