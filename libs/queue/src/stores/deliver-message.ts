import type { MessageListener, MessageOrigin } from '../contract/message-bus.js';

/**
 * Passes a message of the bus to its listeners. Its sender may be a worker that does as it likes: what a listener cannot
 * read must not end this process, nor keep the message from the other listeners.
 */
export function deliverMessage(
  { text, origin }: { text: string; origin: MessageOrigin },
  listeners: Iterable<MessageListener>,
  onUnreadable: (error: unknown) => void,
): void {
  for (const listener of listeners) {
    try {
      listener(text, origin);
    } catch (error) {
      onUnreadable(error);
    }
  }
}

export const unreadableMessage = 'A message of another process could not be read and was dropped.';
