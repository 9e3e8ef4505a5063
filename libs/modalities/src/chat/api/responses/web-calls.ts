import type { ResponsesWebSearchCall } from '../../contract/responses/responses.response.js';
import type { WebCall } from '../job/web-source.js';
import { isDocument } from '../characters/source-texts.js';

/** Builds the item of a lookup as it is after its end. */
export function presentWebCall({ target, isFailed }: WebCall, id: string, sources: readonly { url: string }[] | null) {
  const found = sources?.flatMap(({ url }) => (isDocument(url) ? [] : [{ type: 'url' as const, url }]));
  const action: ResponsesWebSearchCall['action'] =
    'query' in target
      ? {
          type: 'search',
          query: target.query,
          queries: [target.query],
          ...(found === undefined ? {} : { sources: found }),
        }
      : { type: 'open_page', url: target.url };
  const status = isFailed ? ('failed' as const) : ('completed' as const);
  return { type: 'web_search_call' as const, id, status, action };
}
