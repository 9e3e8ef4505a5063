import { PlatformError } from '#common';
import { outgoingProxy } from '#platform/config';
import { isDiskFull } from '#platform/files';

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

/** Codes of TLS where the server's authority is unknown here, as behind a proxy that opens connections. */
const untrustedCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Codes of TLS for a certificate that is not valid now. The cause is more often a wrong clock than the certificate. */
const datedCodes = new Set(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED']);

/** A failed download or installation, with a message an operator can act on. */
export function pullError(message: string, cause?: unknown): PlatformError {
  const advice = certificateAdvice(cause) ?? proxyAdvice(cause);
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

function certificateAdvice(cause: unknown): string | null {
  if (hasCode(cause, datedCodes)) {
    const now = new Date().toISOString().slice(0, 16).replace('T', ' ');
    return `The clock of this machine says ${now} UTC: correct it if that is wrong. If it is right, the server must renew its certificate.`;
  }
  if (!hasCode(cause, untrustedCodes)) return null;
  return 'Its certificate is not trusted here: name the file of its authority in NODE_EXTRA_CA_CERTS.';
}

/** True if nothing answered at all: no network, a wrong name or a closed port. */
export function isConnectionFailure(error: unknown): boolean {
  return hasCode(error, connectionCodes);
}

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (codes.has(String((cause as NodeJS.ErrnoException).code))) return true;
  }
  return false;
}

export function isStorageFull(error: unknown): boolean {
  if (error instanceof PlatformError) return error.code === 'STORAGE_FULL';
  return isDiskFull(error);
}

/** True if a retry may help: a broken connection, not a wrong hash or a full disk. */
export class InterruptedDownloadError extends Error {
  override readonly name = 'InterruptedDownloadError';
}
