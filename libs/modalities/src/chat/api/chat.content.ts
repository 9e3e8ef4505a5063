import type { ChatJobImage } from '../contract/chat.job.js';
import type { ChatMessage, ChatPart } from '../contract/chat.message.js';
import type { StoredImagePart } from './inputs/chat-images.js';

/** The text of a message and where its images stand in it. Texts side by side are separate lines. */
export function contentOf(content: ChatMessage['content'] | null): { content: string; images?: ChatJobImage[] } {
  if (!Array.isArray(content)) return { content: content ?? '' };
  let text = '';
  let followsText = false;
  const images: ChatJobImage[] = [];
  for (const part of content as (ChatPart | StoredImagePart)[]) {
    if (part.type === 'text') text += followsText ? `\n${part.text}` : part.text;
    if ('stored' in part) images.push({ ...part.stored, position: text.length });
    followsText = !('stored' in part);
  }
  return images.length === 0 ? { content: text } : { content: text, images };
}
