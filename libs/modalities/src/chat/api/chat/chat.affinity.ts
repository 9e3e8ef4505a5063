import type { ChatJobMessage, ChatJobPayload } from '../../contract/chat.job.js';

/** Prompts below this many characters in all messages cost less to compute than to route. */
const shortestPrompt = 512;

/** Maximum characters used of each message. */
const maxCharacters = 4_096;

/**
 * Returns what all turns of a conversation share: the client's `prompt_cache_key`, otherwise the system message and the
 * first user message; within the scope of its cached prefixes. Undefined for prompts that are not worth routing.
 */
export function affinityOf(payload: ChatJobPayload): (() => string) | undefined {
  const { messages, prompts, promptCacheKey, cacheScope = '', sealing } = payload;
  // Its key says where it goes, and nothing of its texts may be hashed.
  if (sealing !== undefined) return undefined;
  if (promptCacheKey !== undefined && promptCacheKey !== '') return () => `${cacheScope} key ${promptCacheKey}`;
  const [text = ''] = prompts?.map((prompt) => prompt.text ?? '') ?? [];
  if (text.length >= shortestPrompt) return () => `${cacheScope} text ${text.slice(0, maxCharacters)}`;
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
  return characters < shortestPrompt
    ? undefined
    : () => `${cacheScope} beginning ${JSON.stringify(beginningOf(messages))}`;
}

function beginningOf(messages: readonly ChatJobMessage[]): string[] {
  const firstOfUser = messages.findIndex(({ role }) => role === 'user');
  return messages
    .slice(0, firstOfUser + 1 || 1)
    .map(({ role, content }) => `${role} ${content.slice(0, maxCharacters)}`);
}
