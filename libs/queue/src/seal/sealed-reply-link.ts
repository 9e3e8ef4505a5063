import type { ReplyHandlers, ReplyLink } from '../backends/store.js';
import { unreadable } from './payload-seal.js';
import type { QueueKeys } from './queue-keys.js';

/**
 * Seals the messages of reply channels, which hold what models answer, with the key of a model of the sender, whose name
 * comes first. Messages that cannot be opened are lost ones.
 */
export class SealedReplyLink implements ReplyLink {
  constructor(
    private readonly link: ReplyLink,
    private readonly keys: QueueKeys,
  ) {}

  async send(address: string, messages: string[]): Promise<void> {
    const [modelId = anyModel] = this.keys.models ?? [anyModel];
    const seal = this.keys.sealOf(modelId) ?? unsealable();
    const sealed = messages.map((message) => `${modelId}:${seal.seal(placeOf(address), message)}`);
    await this.link.send(address, sealed);
  }

  async receive(address: string, handlers: ReplyHandlers): Promise<{ close(): Promise<void> }> {
    const onMessage = (text: string): void => {
      const message = this.open(address, text);
      if (message === null) handlers.onLost();
      else handlers.onMessage(message);
    };
    return await this.link.receive(address, { ...handlers, onMessage });
  }

  /** A sender without a key sends plain JSON, which begins with a bracket. */
  private open(address: string, text: string): string | null {
    if (text.startsWith('[')) return text;
    try {
      const [modelId = '', sealed = ''] = text.split(':');
      return this.keys.sealOf(modelId)?.open(placeOf(address), sealed) ?? null;
    } catch {
      return null;
    }
  }
}

/** Names the key of senders that have the installation's; no model has this id. */
const anyModel = '';

function unsealable(): never {
  throw unreadable();
}

function placeOf(address: string): string {
  return `reply ${address}`;
}
