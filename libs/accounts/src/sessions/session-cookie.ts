/** The header in which every request of a session repeats its `csrf` text. */
export const csrfHeader = 'x-sluice-csrf';

/** Installations and path prefixes of one host have cookies of different names. */
export const sessionCookiePrefix = 'sluice_console_';

/** Other cookies of the same host may have the prefix; more than these are not looked at. */
const maxTokens = 8;

/** Where and how a browser keeps a session. */
export interface SessionCookie {
  name: string;
  /** `/`, or the path under which a proxy publishes the api, with a slash at both ends. */
  path: string;
  isSecure: boolean;
}

/** Returns what could be tokens of sessions in a header `cookie`. */
export function sessionTokensIn(header: string | undefined): string[] {
  if (header?.includes(sessionCookiePrefix) !== true) return [];
  const pairs = header.split(';').map((pair) => pair.trim());
  return pairs
    .filter((pair) => pair.startsWith(sessionCookiePrefix))
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
    .slice(0, maxTokens);
}

/** The `Set-Cookie` header of a session that was opened. Scripts cannot read it; other sites cannot send it. */
export function writeSessionCookie(cookie: SessionCookie, token: string, maxAgeSeconds: number): string {
  const { name, path, isSecure } = cookie;
  return `${name}=${token}; Max-Age=${maxAgeSeconds}; Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}
