import type { ChatJobImage, ChatJobMessage } from '../../contract/chat.job.js';
import type { ChatMessage, ChatPart } from '../../contract/chat.message.js';
import { clockTime, type ShownVideoPart, type StoredImagePart } from './prepared-parts.js';

type PreparedPart = ChatPart | StoredImagePart | ShownVideoPart;

/** A message's text with the positions of what is no text. */
type JobContent = Pick<ChatJobMessage, 'content' | 'images' | 'cacheMark'>;

/** The text of a message, where its images stand in it, and where its last part to cache ends. Texts side by side are separate lines. */
export function contentOf(content: ChatMessage['content'] | null): JobContent {
  if (!Array.isArray(content)) return { content: content ?? '' };
  let text = '';
  let followsText = false;
  let cacheMark: number | undefined;
  const images: ChatJobImage[] = [];
  const addText = (added: string): void => {
    text += followsText ? `\n${added}` : added;
    followsText = true;
  };
  const addImage = (image: Omit<ChatJobImage, 'position'>): void => {
    images.push({ ...image, position: text.length });
    followsText = false;
  };
  for (const part of content as PreparedPart[]) {
    if (part.type === 'text') addText(part.text);
    if ('stored' in part) addImage(part.stored);
    if ('shown' in part) {
      const { frames, param, transcript } = part.shown;
      for (const { seconds, artifactId } of frames) {
        addText(`[Frame of a video at ${clockTime(seconds)}]`);
        addImage({ artifactId, param, isFrame: true });
      }
      if (transcript !== undefined) addText(transcript);
    }
    if ((part.cache_control ?? null) !== null) cacheMark = text.length;
  }
  return {
    content: text,
    ...(images.length === 0 ? {} : { images }),
    ...(cacheMark === undefined ? {} : { cacheMark }),
  };
}
