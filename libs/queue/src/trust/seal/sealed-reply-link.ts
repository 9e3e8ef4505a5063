import { everyModel, type ReplyTarget, type ScopedReplyHandlers, type ScopedReplyLink } from '../../contract/seals.js';
import type { ReplyLink } from '../../contract/store.js';
import { unreadable } from './payload-seal.js';
import type { QueueKeys } from './queue-keys.js';

/**
 * Seals the messages of reply channels, which hold what models answer, with the key of their model, whose name comes
 * first. Senders that have the key of the installation may answer for every model. A reader with keys drops what it
 * cannot open, so that workers of a pool can answer only the requests of their models.
 */
export class SealedReplyLink implements ScopedReplyLink {
  constructor(
    private readonly link: ReplyLink,
    private readonly keys: QueueKeys,
  ) {}

  /** Returns null when this process can send no replies for the model. */
  scopeOf(modelId: string): string | null {
    return this.keys.replyScopeOf(modelId);
  }

  async send({ address, scope }: ReplyTarget, messages: string[]): Promise<void> {
    if (this.keys.isEmpty) return await this.link.send(address, messages);
    const seal = this.keys.sealOf(scope);
    if (seal === null) throw unreadable();
    const sealed = messages.map((message) => `${scope}:${seal.seal(placeOf(address), message)}`);
    await this.link.send(address, sealed);
  }

  async receive(address: string, handlers: ScopedReplyHandlers): Promise<{ close(): Promise<void> }> {
    const onMessage = (text: string): void => {
      if (this.keys.isEmpty) return handlers.onMessage(text, everyModel);
      const scope = text.slice(0, Math.max(0, text.indexOf(':')));
      if (!handlers.accepts(scope)) return;
      const message = this.open({ address, scope }, text.slice(scope.length + 1));
      if (message !== null) handlers.onMessage(message, scope);
    };
    return await this.link.receive(address, { onMessage, onLost: () => handlers.onLost() });
  }

  private open({ address, scope }: ReplyTarget, sealed: string): string | null {
    try {
      return this.keys.sealOf(scope)?.open(placeOf(address), sealed) ?? null;
    } catch {
      return null;
    }
  }
}

function placeOf(address: string): string {
  return `reply ${address}`;
}
