import type { ResponsesItem } from '../../contract/responses/responses.items.js';

/** An input item with an id. */
export type ListedItem = Record<string, unknown> & { id: string; type: string };

const prefixes: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  web_search_call: 'ws',
};

/** Input items as they are listed: with type and id, and the contents of messages as parts. */
export function listItems(items: readonly ResponsesItem[], requestId: string): ListedItem[] {
  return items.map((item, index) => {
    const { type = 'message', id, ...members } = item as ResponsesItem & { id?: string | null; content?: unknown };
    const listed = { type, id: id ?? `${prefixes[type] ?? 'fco'}_${requestId}_in${index}`, ...members };
    if (type !== 'message' || typeof listed.content !== 'string') return listed;
    const isOwn = 'role' in item && item.role === 'assistant';
    return { ...listed, content: [{ type: isOwn ? 'output_text' : 'input_text', text: listed.content }] };
  });
}

/** Which part of a list is asked for. */
export interface ItemPage {
  limit: number;
  order: 'asc' | 'desc';
  /** Id of the item before the first one; null: from the beginning. */
  after: string | null;
}

/** A page of items. Null where `after` is not among them. */
export function pageOf(items: readonly ListedItem[], { limit, order, after }: ItemPage) {
  const ordered = order === 'asc' ? items : items.toReversed();
  const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) return null;
  const data = ordered.slice(start, start + limit);
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  };
}
