import type { Redis } from 'ioredis';
import { deliverMessage, unreadableMessage } from '../deliver-message.js';
import type { MessageBus } from '../store.js';

/** PUBLISH and SUBSCRIBE, one connection each way. */
export class RedisBus implements MessageBus {
  private readonly listeners = new Map<string, Set<(text: string) => void>>();
  private readonly reconnectListeners = new Set<() => void>();

  constructor(
    private readonly publisher: Redis,
    private readonly subscriber: Redis,
    private readonly namespace: string,
    warn: (message: string, error?: unknown) => void,
  ) {
    subscriber.on('message', (channel: string, text: string) => {
      deliverMessage(text, this.listeners.get(channel) ?? [], (error) => warn(unreadableMessage, error));
    });
    // ioredis restores subscriptions by itself before it emits `ready`.
    subscriber.on('ready', () => {
      for (const listener of this.reconnectListeners) listener();
    });
  }

  async publish(channel: string, text: string): Promise<void> {
    await this.publisher.publish(this.name(channel), text);
  }

  async subscribe(channel: string, listener: (text: string) => void): Promise<() => void> {
    const name = this.name(channel);
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners);
    listeners.add(listener);
    await this.subscriber.subscribe(name);
    return () => listeners.delete(listener);
  }

  isConnected(): boolean {
    return this.subscriber.status === 'ready';
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  private name(channel: string): string {
    return `${this.namespace}:bus:${channel}`;
  }
}
