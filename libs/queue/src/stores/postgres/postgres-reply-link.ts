import type { ReplyHandlers, ReplyLink } from '../../contract/store.js';
import type { PostgresBus } from './postgres-bus.js';

/**
 * Reply channels as notification channels, one per address. Messages sent while the reader is disconnected are lost,
 * which the reader reports when it is back.
 */
export class PostgresReplyLink implements ReplyLink {
  constructor(private readonly bus: PostgresBus) {}

  async send(address: string, messages: string[]): Promise<void> {
    await this.bus.publishAll(channelOf(address), messages);
  }

  async receive(address: string, handlers: ReplyHandlers): Promise<{ close(): Promise<void> }> {
    const unsubscribe = await this.bus.subscribeReplies(channelOf(address), (text) => handlers.onMessage(text));
    const forget = this.bus.onReconnect(handlers.onLost);
    return {
      close: async () => {
        unsubscribe();
        forget();
      },
    };
  }
}

function channelOf(address: string): string {
  return `reply_${address}`;
}
