import type { ChatTemplateMessage } from '../contract/text-generation.js';

/** One part of a message, as chat templates of models that see read it. */
export type ContentPart = { type: 'text'; text: string } | { type: 'image' };

/** Returns the message with its content as a list of parts, never an empty one: some templates read the first. */
export function contentParts({ imagePositions = [], ...message }: ChatTemplateMessage): object {
  const { content } = message;
  const parts: ContentPart[] = [];
  const addText = (from: number, to: number): void => {
    if (to > from) parts.push({ type: 'text', text: content.slice(from, to) });
  };
  imagePositions.forEach((position, index) => {
    addText(imagePositions[index - 1] ?? 0, position);
    parts.push({ type: 'image' });
  });
  addText(imagePositions.at(-1) ?? 0, content.length);
  return { ...message, content: parts.length > 0 ? parts : [{ type: 'text', text: '' }] };
}
