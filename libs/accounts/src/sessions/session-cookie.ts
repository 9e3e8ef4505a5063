/** The header in which every request of a session repeats its `csrf` text. */
export const csrfHeader = 'x-sluice-csrf';

/** Installations and path prefixes of one host have cookies of different names. */
const namePrefix = 'sluice_console_';

/**
 * A browser takes a cookie with this prefix only over TLS, for the path `/`, and from the host itself: no page of a
 * sibling domain can set one.
 */
const hostPrefix = '__Host-';

/** Where and how a browser keeps a session. */
export interface SessionCookie {
  name: string;
  /** `/`, or the path under which a proxy publishes the api, with a slash at both ends. */
  path: string;
  isSecure: boolean;
}

/**
 * Returns the name of the cookie of a console. Behind a path prefix it has no `__Host-`, which would send it to the
 * other applications of the host as well.
 */
export function sessionCookieName(id: string, { path, isSecure }: Omit<SessionCookie, 'name'>): string {
  return `${isSecure && path === '/' ? hostPrefix : ''}${namePrefix}${id}`;
}

/**
 * Returns what could be tokens of sessions in a header `cookie`, first those that only the host itself can have set.
 * There may be several, and other hosts of the domain may have set some: a token proves itself (`isSessionToken`).
 */
export function sessionTokensIn(header: string | undefined): string[] {
  if (header?.includes(namePrefix) !== true) return [];
  const pairs = header.split(';').map((pair) => pair.trim());
  return [`${hostPrefix}${namePrefix}`, namePrefix].flatMap((prefix) =>
    pairs.filter((pair) => pair.startsWith(prefix)).map((pair) => pair.slice(pair.indexOf('=') + 1)),
  );
}

/** The `Set-Cookie` header of a session that was opened. Scripts cannot read it; other sites cannot send it. */
export function writeSessionCookie(cookie: SessionCookie, token: string, maxAgeSeconds: number): string {
  const { name, path, isSecure } = cookie;
  return `${name}=${token}; Max-Age=${maxAgeSeconds}; Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}
