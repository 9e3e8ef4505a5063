import type { ChatMessage } from '../../contract/chat.message.js';

type UserContent = Extract<ChatMessage, { role: 'user' }>['content'];

/** The text of the latest user message, as its client wrote it; empty without one. */
export function latestUserText(messages: readonly ChatMessage[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  if (!Array.isArray(content)) return content;
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Returns the messages with another content of the latest user message; the same ones without such a message. */
export function changeLatestUser(
  messages: ChatMessage[],
  change: (content: UserContent) => UserContent,
): ChatMessage[] {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const message = messages[at];
  return message?.role === 'user' ? messages.with(at, { ...message, content: change(message.content) }) : messages;
}

/** Puts a text before a content. As a part of its own it ends with `end`. */
export function prepended(content: UserContent, text: string, end = ''): UserContent {
  return Array.isArray(content) ? [{ type: 'text', text: `${text}${end}` }, ...content] : `${text}\n\n${content}`;
}
