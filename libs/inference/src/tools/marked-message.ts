import type { ReasoningFormat } from '../contract/reasoning-format.js';
import type { ChatTemplateMessage } from '../contract/text-generation.js';
import type { ControlTokens } from '../text/control-tokens.js';

/** Members that are not text of a caller, or that hold calls still to be written. */
const unmarked: ReadonlySet<string> = new Set(['role', 'imagePositions', 'cacheMark', 'toolCalls', 'toolCallId']);

/**
 * Marks all texts of a message. One piece of structure is left to an assistant's message: the reasoning block that it
 * begins with, because clients send what a model wrote back as it was.
 */
export function markMessage<Message extends ChatTemplateMessage>(
  message: Message,
  control: ControlTokens,
  reasoning: ReasoningFormat | null,
): Message {
  const members = Object.entries(message).map(([name, value]) => [
    name,
    unmarked.has(name) ? value : control.markAll(value),
  ]);
  const marked = Object.fromEntries(members) as Message;
  if (message.role !== 'assistant' || reasoning === null) return marked;
  return { ...marked, content: markBehindReasoning(message.content.toWellFormed(), control, reasoning) };
}

/** A template may have opened the block, so that the message begins inside it. */
function markBehindReasoning(content: string, control: ControlTokens, { open, close }: ReasoningFormat): string {
  const end = content.indexOf(close);
  const isToken = (text: string): boolean => control.contents.has(text);
  if (end < 0 || !isToken(open) || !isToken(close)) return control.mark(content);
  const start = content.length - content.trimStart().length;
  const begin = content.startsWith(open, start) ? start + open.length : 0;
  if (begin > end) return control.mark(content);
  const [thoughts, answer] = [content.slice(begin, end), content.slice(end + close.length)];
  return content.slice(0, begin) + control.mark(thoughts) + close + control.mark(answer);
}
