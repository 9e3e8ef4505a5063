/** The proxy that requests to other machines go through, as npm, undici and curl understand its variables. */
export interface OutgoingProxy {
  variable: string;
  /** Host and port, without credentials. Null: the value is no URL. */
  host: string | null;
}

const variables = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

/** Returns the proxy for https, or else for http. Null: no variable names one. */
export function outgoingProxy(): OutgoingProxy | null {
  const variable = variables.find((name) => (process.env[name] ?? '') !== '');
  if (variable === undefined) return null;
  const value = process.env[variable] ?? '';
  return { variable, host: /^https?:/.test(value) && URL.canParse(value) ? new URL(value).host : null };
}
