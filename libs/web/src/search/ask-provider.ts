import { PlatformError } from '#common';
import { isObject } from '#common/values';
import { type Egress, type RemoteRequest, RemoteStatus } from '#egress';
import { ProviderFault, type RawResult } from './search-provider.js';

/** Far more than 20 results take. */
const maxBytes = 2 * 1024 * 1024;

export interface ProviderConnection {
  egress: Pick<Egress, 'read'>;
  timeoutMs: number;
}

export interface ProviderRequest extends Pick<RemoteRequest, 'url' | 'headers' | 'json'> {
  /** What an operator does about a status; null: the usual text. */
  explain: (status: number) => string | null;
}

/**
 * Asks a provider for JSON. Redirects are refused: they would carry the key and the query elsewhere. Rejects with
 * `ProviderFault`, or with the signal's reason.
 */
export async function askProvider(
  { egress, timeoutMs }: ProviderConnection,
  { explain, ...request }: ProviderRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const contentTypes = ['application/json'];
  const remote = {
    ...request,
    owner: 'search provider',
    maxBytes,
    timeoutMs,
    contentTypes,
    maxRedirects: 0,
    param: 'It',
    signal,
  };
  let text: string;
  try {
    text = (await egress.read(remote)).bytes.toString('utf8');
  } catch (error) {
    signal.throwIfAborted();
    throw faultOf(error, explain);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ProviderFault('It did not answer with valid JSON.', { cause: error });
  }
}

function faultOf(error: unknown, explain: ProviderRequest['explain']): Error {
  if (!(error instanceof PlatformError)) return error instanceof Error ? error : new Error(String(error));
  const status = error.cause instanceof RemoteStatus ? error.cause.status : null;
  const hint = status === null ? null : explain(status);
  return new ProviderFault(hint ?? error.message, { cause: error });
}

/** Returns the results of a list in a response. Throws `ProviderFault` if the list is not there. */
export function resultsIn(
  body: unknown,
  path: readonly string[],
  read: (result: RawMembers) => RawResult,
): RawResult[] {
  let value = body;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  if (!Array.isArray(value)) throw new ProviderFault(`Its response has no list "${path.join('.')}".`);
  return value.filter(isObject).map(read);
}

export type RawMembers = Readonly<Record<string, unknown>>;

/** For services with a key and a plan. */
export function explainKey(variable: string, refused: readonly number[], spent: readonly number[]) {
  return (status: number): string | null => {
    if (refused.includes(status)) return `It refuses the key (status ${status}): check ${variable}.`;
    if (spent.includes(status)) return `The limit of its plan is reached (status ${status}).`;
    return null;
  };
}
