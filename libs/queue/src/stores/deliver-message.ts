import type { MessageListener, MessageOrigin } from '../contract/message-bus.js';

/**
 * Passes a message of the bus to its listeners. Its sender may be a compromised worker: a message that a listener
 * cannot read must neither end this process nor be kept from the other listeners.
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
