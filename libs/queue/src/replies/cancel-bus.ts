import { storeCall } from '../contract/store-call.js';
import type { CancelBus } from '../contract/transport.js';
import type { BusSender, VerifiedBus } from '../contract/message-bus.js';

const channel = 'cancel';

/** How many cancels are kept for jobs that have not been picked up yet; the oldest are dropped first. */
const rememberedCancels = 10_000;

/** Cancels over the store's bus. Remembers recent ones, so that a cancel may arrive before its job is picked up. */
export class BusCancels implements CancelBus {
  private readonly listeners = new Set<(requestId: string) => void>();
  private readonly recent = new Set<string>();
  private unsubscribe: () => void = () => undefined;

  constructor(private readonly bus: VerifiedBus) {}

  async start(): Promise<void> {
    this.unsubscribe = await this.bus.subscribe(channel, (text, sender) => this.receive(text, sender));
  }

  async cancel(requestId: string): Promise<void> {
    await storeCall(() => this.bus.publish(channel, requestId));
  }

  subscribe(listener: (requestId: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  wasCancelled(requestId: string): boolean {
    return this.recent.has(requestId);
  }

  close(): void {
    this.unsubscribe();
    this.listeners.clear();
  }

  private receive(requestId: string, sender: BusSender): void {
    if (sender.models !== null) return this.bus.refuse(channel, sender);
    this.recent.add(requestId);
    if (this.recent.size > rememberedCancels) {
      const [oldest] = this.recent;
      if (oldest !== undefined) this.recent.delete(oldest);
    }
    for (const listener of this.listeners) listener(requestId);
  }
}
