import { invalidField } from '#gateway';
import type { ChatMessage, ChatPart } from '../../contract/chat.message.js';
import type { ShownVideoPart } from '../job/prepared-parts.js';
import { isShownVideo } from './chat-videos.js';

/** A content part and where it stands. */
export interface PartPosition<Part extends ChatPart = ChatPart> {
  part: Part;
  /** Index of its message. */
  message: number;
  /** Path of the part, to name in errors. */
  param: string;
}

/** Returns the parts of some types, in the order of the conversation. */
export function findParts<Type extends ChatPart['type']>(
  messages: readonly ChatMessage[],
  types: ReadonlySet<Type>,
): PartPosition<Extract<ChatPart, { type: Type }>>[] {
  return messages.flatMap(({ content }, message) => {
    if (!Array.isArray(content)) return [];
    return content.flatMap((part: ChatPart, index) => {
      if (!(types as ReadonlySet<string>).has(part.type)) return [];
      const param = `messages[${message}].content[${index}]`;
      return [{ part: part as Extract<ChatPart, { type: Type }>, message, param }];
    });
  });
}

/** Throws `INVALID_REQUEST` for the first part beyond the maximum of its type; types without one have no bound. */
export function checkPartCounts(
  positions: readonly PartPosition[],
  maxOf: (type: ChatPart['type']) => number | undefined,
): void {
  const counts = new Map<ChatPart['type'], number>();
  for (const { part, param } of positions) {
    const { type } = part;
    const count = (counts.get(type) ?? 0) + 1;
    counts.set(type, count);
    const max = maxOf(type);
    if (max === undefined || count <= max) continue;
    throw invalidField(`A request may hold at most ${max} parts of type ${type}.`, param, 'too_big');
  }
}

/** Returns the messages with other parts in place of theirs, or the same array if every part stays. */
export function replaceParts(messages: ChatMessage[], replace: (part: ChatPart) => readonly ChatPart[]): ChatMessage[] {
  const replaced = messages.map((message) => {
    if (!Array.isArray(message.content)) return message;
    const originals: readonly ChatPart[] = message.content;
    const parts = originals.flatMap(replace);
    const stays = parts.length === originals.length && parts.every((part, index) => part === originals[index]);
    // Only user messages hold parts that are not text.
    return stays ? message : ({ ...message, content: parts } as ChatMessage);
  });
  return replaced.some((message, index) => message !== messages[index]) ? replaced : messages;
}

/** Returns the messages with a text in place of each part that has one; it joins the frames of a video that is shown. */
export function withTexts(messages: ChatMessage[], texts: ReadonlyMap<ChatPart, string>): ChatMessage[] {
  if (texts.size === 0) return messages;
  return replaceParts(messages, (part) => {
    const text = texts.get(part);
    if (text === undefined) return [part];
    const { cache_control } = part;
    if (!isShownVideo(part)) return [{ type: 'text', text, ...(cache_control ? { cache_control } : {}) }];
    const video: ShownVideoPart = { ...part, shown: { ...part.shown, transcript: text } };
    return [video];
  });
}
