import { PlatformError } from '#common';
import type { LimitScope } from './limit-headers.js';
import type { Limits } from './limits/limit-table.js';
import type { FailureRule } from './store/limit-store.js';

/** Why a request was refused; a closed set, for the metrics. */
export type RefusalReason =
  | `${LimitScope}_requests`
  | `${LimitScope}_tokens`
  | 'user_concurrent'
  | 'user_credits'
  | 'api_key_concurrent'
  | 'failures';

export interface WindowRefusal {
  scope: LimitScope;
  kind: 'requests' | 'tokens';
  limits: Limits;
  /** Ms until the same request fits, without other requests; null: never. */
  waitMs: number | null;
  /** Tokens the request asks for. */
  tokens: number;
  modelId: string | null;
}

const replicas: Record<LimitScope, string> = {
  user: 'this account',
  api_key: 'this API key',
  global: 'the whole service',
};

const count = (amount: number | null): string => (amount ?? 0).toLocaleString('en-US');

export function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** Returns `RATE_LIMIT_EXCEEDED`, naming the limit and the wait. */
export function refusedByWindow({ scope, kind, limits, waitMs, tokens, modelId }: WindowRefusal): PlatformError {
  const model = modelId === null || scope !== 'user' ? '' : ` for the model ${modelId}`;
  const limit = `${count(limits[kind])} ${kind} per minute${model}`;
  if (waitMs === null) {
    const need = kind === 'tokens' ? `This request may use ${count(tokens)} tokens, and ` : '';
    const advice = kind === 'tokens' ? ' Send less, or ask for less output.' : '';
    const text = `${need}${replicas[scope]} may use no more than ${limit}.${advice}`;
    return limitError(text.charAt(0).toUpperCase() + text.slice(1), 'never');
  }
  const afterSeconds = secondsOf(waitMs);
  const ofTokens = kind === 'tokens' ? `, and this request may use ${count(tokens)}` : '';
  const text = `Rate limit reached: ${replicas[scope]} may use ${limit}${ofTokens}. Try again in ${afterSeconds} s.`;
  return limitError(text, { afterSeconds });
}

/** Returns `RATE_LIMIT_EXCEEDED` for a caller whose requests failed too often; names the threshold and the wait. */
export function refusedForFailures({ max, window, blockMs }: FailureRule, blockedMs: number): PlatformError {
  const afterSeconds = secondsOf(blockedMs);
  const text =
    `Too many failed requests: more than ${max} within ${secondsOf(window.lengthMs)} s block all requests ` +
    `for ${secondsOf(blockMs)} s. Try again in ${afterSeconds} s.`;
  return limitError(text, { afterSeconds });
}

function limitError(message: string, retry: NonNullable<PlatformError['retry']>): PlatformError {
  return new PlatformError('RATE_LIMIT_EXCEEDED', message, null, { retry });
}
