import { createHash } from 'node:crypto';
import type { MessageBus } from '../backends/store.js';

interface ClaimMessage {
  queue: string;
  requestId: string;
}

/**
 * Tells a worker which sticky job to claim, on a channel of its own. Lossy: a job whose message is lost goes to any worker
 * when its delay ends.
 */
export class ClaimBus {
  constructor(private readonly bus: MessageBus) {}

  /** Never rejects. */
  async send(workerId: string, message: ClaimMessage): Promise<void> {
    await this.bus.publish(channelOf(workerId), JSON.stringify(message)).catch(() => undefined);
  }

  /** Receives the messages about one queue until the returned function is called. */
  async subscribe(workerId: string, queue: string, listener: (requestId: string) => void): Promise<() => void> {
    return await this.bus.subscribe(channelOf(workerId), (text) => {
      const message = JSON.parse(text) as ClaimMessage;
      if (message.queue === queue) listener(message.requestId);
    });
  }
}

/** Postgres takes channels of 63 bytes at most. */
function channelOf(workerId: string): string {
  return `claim_${createHash('sha256').update(workerId).digest('hex').slice(0, 16)}`;
}
