import { invalidField } from '#gateway';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import type { ChatCacheControl } from '../../contract/chat.message.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';

/** How long a part marked with `cache_control` is kept without a `ttl`, in seconds. */
const defaultSeconds = 300;
const longestSeconds = 86_400;
/** `prompt_cache_retention` that asks for more than the default. */
const retentions: Readonly<Record<string, number>> = { extended: longestSeconds, '24h': longestSeconds };

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/**
 * How long the prompt of a request is kept in the cache: the longest that its marks and `prompt_cache_retention` ask
 * for. Throws `INVALID_REQUEST` naming a `ttl` that is no time.
 */
export function cacheSecondsOf(request: ChatCompletionRequest): Pick<ChatJobPayload, 'cacheSeconds'> {
  const marks = request.messages.flatMap(({ content }, message) =>
    Array.isArray(content)
      ? content.flatMap((part, index) =>
          part.cache_control ? [secondsOf(part.cache_control, `messages[${message}].content[${index}]`)] : [],
        )
      : [],
  );
  const retention = retentions[request.prompt_cache_retention ?? ''] ?? 0;
  const seconds = marks.reduce((longest, mark) => Math.max(longest, mark), retention);
  return seconds === 0 ? {} : { cacheSeconds: seconds };
}

function secondsOf({ ttl }: ChatCacheControl, place: string): number {
  if ((ttl ?? null) === null) return defaultSeconds;
  const [, count = '', unit = ''] = /^(\d{1,5})([smh])$/.exec(String(ttl)) ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? 0);
  if (seconds >= 1 && seconds <= longestSeconds) return seconds;
  const param = `${place}.cache_control.ttl`;
  throw invalidField(`${param} must be a time such as 5m or 1h, up to 24h.`, param);
}
