import { createHash } from 'node:crypto';
import type { MessageBus } from '../backends/store.js';

interface ClaimCall {
  queue: string;
  requestId: string;
}

/**
 * Tells a worker that a job is kept for it, on a channel that it alone hears. Lossy: a job whose call is lost goes to
 * whoever is free when its time is over.
 */
export class ClaimBus {
  constructor(private readonly bus: MessageBus) {}

  /** Never rejects. */
  async call(workerId: string, call: ClaimCall): Promise<void> {
    await this.bus.publish(channelOf(workerId), JSON.stringify(call)).catch(() => undefined);
  }

  /** Hears of the jobs of one queue; the returned function ends it. */
  async hear(workerId: string, queue: string, listener: (requestId: string) => void): Promise<() => void> {
    return await this.bus.subscribe(channelOf(workerId), (text) => {
      const call = JSON.parse(text) as ClaimCall;
      if (call.queue === queue) listener(call.requestId);
    });
  }
}

/** Postgres takes channels of 63 bytes at most. */
function channelOf(workerId: string): string {
  return `claim_${createHash('sha256').update(workerId).digest('hex').slice(0, 16)}`;
}
