import { PlatformError } from '#common';

interface DriverError {
  code?: unknown;
  message?: unknown;
  cause?: unknown;
  meta?: { driverAdapterError?: unknown };
}

const untrusted =
  'Its certificate is not trusted: name its authority in NODE_EXTRA_CA_CERTS, or sslrootcert in its URL.';

/** By code of the operating system, of TLS, of PostgreSQL and of Prisma: what an operator should check. */
const advice: Record<string, string> = {
  ECONNREFUSED: 'Connections are refused: check that it runs, and the host and port in its URL.',
  ENOTFOUND: 'Its host is unknown: check the host in its URL.',
  EAI_AGAIN: 'The name of its host cannot be resolved: check the host in its URL, and the DNS.',
  ETIMEDOUT: 'Nothing answers: check the host in its URL, firewalls and network policies.',
  EHOSTUNREACH: 'Its host cannot be reached: check the host in its URL, and the network.',
  '28P01': 'The password is refused: check user and password in its URL.',
  '28000': 'The user is refused: check the user in its URL, and pg_hba.conf.',
  '3D000': 'This database does not exist: create it, or check the name in its URL.',
  '53300': 'It has no connections left: raise max_connections, or run fewer replicas.',
  '53100': 'Its disk is full: free some space.',
  '3F000':
    'It has no schema to create tables in: check the search_path of the user, and the options in its URL or PGOPTIONS.',
  '57P03': 'It is starting or stopping: try again in a moment.',
  P1000: 'The password is refused: check user and password in its URL.',
  P1001: 'Its host cannot be reached: check that it runs, and the host and port in its URL.',
  P1003: 'This database does not exist: create it, or check the name in its URL.',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_HAS_EXPIRED: 'Its certificate has expired: renew it.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Its certificate is for another host: check the host in its URL.',
};

/** The driver gives these no code. */
const adviceByMessage: readonly [RegExp, string][] = [
  [/does not support SSL/, 'It offers no TLS: take sslmode out of its URL, or unset PGSSLMODE.'],
  [/client password must be a/, 'It demands a password: write one into its URL.'],
];

const mostCauses = 5;

/**
 * Returns one plain line for an operator when an error, or a cause of it, says that a store cannot be used at all; null
 * for every other error. The text never holds a URL, which may have a password. An error of a driver is one of the
 * database: other clients wrap theirs in a `PlatformError` that names the store.
 */
export function connectionFailure(error: unknown): PlatformError | null {
  const subject = error instanceof PlatformError ? error.message : 'The database cannot be used.';
  let cause = error as DriverError | undefined;
  for (let depth = 0; cause && depth < mostCauses; depth++) {
    const { code, message } = cause;
    const known = adviceOf(code, message);
    if (known !== undefined) {
      const detail = typeof message === 'string' && message && !message.includes('\n') ? ` (${message})` : '';
      return new PlatformError('SERVICE_UNAVAILABLE', `${subject} ${known}${detail}`);
    }
    cause = (cause.cause ?? cause.meta?.driverAdapterError) as DriverError | undefined;
  }
  return null;
}

function adviceOf(code: unknown, message: unknown): string | undefined {
  if (typeof code === 'string') return advice[code];
  if (typeof message !== 'string') return undefined;
  return adviceByMessage.find(([pattern]) => pattern.test(message))?.[1];
}
