import { type ChatTemplateMessage, isBarePrompt, type TextGenerationRequest } from '../contract/text-generation.js';
import type { ChatTemplate, ChatTemplateOptions } from './chat-template.js';
import { buildPrompt } from './prompt-builder.js';

/** From the private use area, so that no template or tokenizer knows it. */
const mark = '\uE010\uE011\uE010';

/**
 * Returns the beginning of a prompt's text that is to be found in the cache again: up to the last mark of the caller,
 * and the system messages in any case. Empty without either.
 */
export function textToCache(
  prompt: TextGenerationRequest['prompt'],
  template: ChatTemplate | null,
  options: Pick<ChatTemplateOptions, 'hasParts'> = {},
): string {
  if (isBarePrompt(prompt)) return '';
  const end = lastMark(prompt.messages);
  if (end === null || prompt.messages.some(({ content }) => content.includes(mark))) return '';
  const { content } = prompt.messages[end.message] as ChatTemplateMessage;
  const marked = `${content.slice(0, end.position)}${mark}${content.slice(end.position)}`;
  const messages = prompt.messages.map((message, index) =>
    index === end.message ? { ...message, content: marked } : message,
  );
  const [text = '', ...rest] = buildPrompt({ ...prompt, messages }, template, null, options).text.split(mark);
  // A template that drops the message, or repeats it, has no such place.
  return rest.length === 1 ? text : '';
}

function lastMark(messages: readonly ChatTemplateMessage[]): { message: number; position: number } | null {
  const marked = messages.findLastIndex(({ cacheMark }) => cacheMark !== undefined);
  const firstOther = messages.findIndex(({ role }) => role !== 'system');
  const system = (firstOther === -1 ? messages.length : firstOther) - 1;
  const message = Math.max(marked, system);
  const last = messages[message];
  if (last === undefined) return null;
  const position = message === system ? last.content.length : (last.cacheMark ?? 0);
  return { message, position };
}
