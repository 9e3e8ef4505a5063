import type { Limits } from './limits/limit-table.js';
import type { WindowState } from './store/limit-store.js';

/** The owner of a window, as `x-ratelimit-type` reports it. */
export type LimitScope = 'user' | 'api_key' | 'global';

/** A window after the store's decision. */
export interface MeasuredWindow {
  scope: LimitScope;
  limits: Limits;
  /** Includes what this request has taken, if it was granted. */
  state: WindowState;
}

const seconds = (ms: number): number => Math.ceil(ms / 1000);
const unixSeconds = (nowMs: number, ms: number): string => String(Math.ceil((nowMs + ms) / 1000));

/** Returns the window with the least capacity among those with a limit. */
function tightest(windows: readonly MeasuredWindow[], kind: 'requests' | 'tokens'): MeasuredWindow | null {
  const limited = windows.filter(({ limits }) => limits[kind] !== null);
  const room = ({ limits, state }: MeasuredWindow): number => (limits[kind] ?? 0) - state[kind];
  return limited.reduce<MeasuredWindow | null>(
    (min, window) => (min === null || room(window) < room(min) ? window : min),
    null,
  );
}

/**
 * Returns the `x-ratelimit-*` headers of the window that refused, else of the one with the least capacity. Requests
 * reset at a unix time, tokens in seconds. After a refusal both say when the same request fits again; otherwise when
 * the oldest use leaves the window.
 */
export function limitHeaders(
  windows: readonly MeasuredWindow[],
  nowMs: number,
  refusedBy: MeasuredWindow | null,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const refusal = refusedBy === null ? [] : [refusedBy];
  const requests = tightest(refusal, 'requests') ?? tightest(windows, 'requests');
  const tokens = tightest(refusal, 'tokens') ?? tightest(windows, 'tokens');
  const type = refusedBy ?? requests ?? tokens;
  if (type !== null) headers['x-ratelimit-type'] = type.scope;
  if (requests !== null) {
    const { limits, state } = requests;
    headers['x-ratelimit-limit-requests'] = String(limits.requests);
    headers['x-ratelimit-remaining-requests'] = String(Math.max(0, (limits.requests ?? 0) - state.requests));
    headers['x-ratelimit-reset-requests'] = unixSeconds(nowMs, refusedBy?.state.waitMs ?? state.requestsResetMs);
  }
  if (tokens !== null) {
    const { limits, state } = tokens;
    headers['x-ratelimit-limit-tokens'] = String(limits.tokens);
    headers['x-ratelimit-remaining-tokens'] = String(Math.max(0, (limits.tokens ?? 0) - state.tokens));
    headers['x-ratelimit-reset-tokens'] = String(seconds(refusedBy?.state.waitMs ?? state.tokensResetMs));
  }
  return headers;
}

/** While a caller is blocked nothing is left, whatever its windows hold. */
export function blockHeaders(limits: Limits, endsAtMs: number): Record<string, string> {
  return {
    'x-ratelimit-type': 'api_key',
    'x-ratelimit-limit-requests': String(limits.requests),
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': unixSeconds(endsAtMs, 0),
  };
}
