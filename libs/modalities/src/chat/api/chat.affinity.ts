import type { ChatJobMessage, ChatJobPayload } from '../contract/chat.job.js';

/** Shorter prompts are computed sooner than they are routed, in characters of all messages. */
const shortestPrompt = 512;

/** Of each message that counts, no more than this is looked at, in characters. */
const maxCharacters = 4_096;

/**
 * What all turns of a conversation have in common: the caller's `prompt_cache_key`, else the system message and the
 * first thing the user said. Undefined for prompts that are not worth a way of their own.
 */
export function affinityOf({ messages, promptCacheKey }: ChatJobPayload): (() => string) | undefined {
  if (promptCacheKey !== undefined && promptCacheKey !== '') return () => `key ${promptCacheKey}`;
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
  return characters < shortestPrompt ? undefined : () => `beginning ${JSON.stringify(beginningOf(messages))}`;
}

function beginningOf(messages: readonly ChatJobMessage[]): string[] {
  const firstOfUser = messages.findIndex(({ role }) => role === 'user');
  return messages
    .slice(0, firstOfUser + 1 || 1)
    .map(({ role, content }) => `${role} ${content.slice(0, maxCharacters)}`);
}
