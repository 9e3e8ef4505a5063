import type { ChatJobMessage } from '../../contract/chat.job.js';
import type { ChatMessage } from '../../contract/chat.message.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import { contentOf } from './chat.content.js';
import type { PlatformPrompts } from './chat.model.js';
import { echoedReasoning } from './chat.reasoning.js';
import { toolMessages } from './chat.tool-messages.js';

function roleOf({ role }: ChatMessage): ChatJobMessage['role'] {
  // Most models know no developer role; OpenAI treats it as system too.
  if (role === 'developer') return 'system';
  return role === 'function' ? 'tool' : role;
}

function toJobMessage(message: ChatMessage): ChatJobMessage {
  const reasoning = echoedReasoning(message);
  return {
    role: roleOf(message),
    ...contentOf(message.content ?? null),
    ...(typeof message.name === 'string' ? { name: message.name } : {}),
    ...(reasoning === undefined ? {} : { reasoningContent: reasoning }),
  };
}

/** The default prompt, unless the client leaves it out, and the character's. */
export function platformPrompt(
  { systemPrompt, characterPrompt }: PlatformPrompts,
  { include_service_system_prompt: hasDefault }: ChatEffectiveParameters,
): string | null {
  const prompts = [hasDefault ? systemPrompt : null, characterPrompt ?? null].filter((text) => text !== null);
  return prompts.length === 0 ? null : prompts.join('\n\n');
}

/**
 * Prompt of the platform, system messages, conversation. Leading system messages are merged, because most chat templates
 * support only one.
 */
export function conversation(messages: ChatMessage[], systemPrompt: string | null): ChatJobMessage[] {
  const ofTools = toolMessages(messages);
  const all = messages.map((message, position) => ({ ...toJobMessage(message), ...ofTools[position] }));
  const first = all.findIndex(({ role }) => role !== 'system');
  const leading = first === -1 ? all.length : first;
  const system = all.slice(0, leading).map(({ content }) => content);
  if (systemPrompt !== null) system.unshift(systemPrompt);
  if (system.length === 0) return all;
  return [{ role: 'system', content: system.join('\n\n') }, ...all.slice(leading)];
}
