import type { Redis } from 'ioredis';
import { poolChannels } from '../../roles/pool-role.js';
import { deliverMessage, unreadableMessage } from '../deliver-message.js';
import type { MessageBus, MessageListener, MessageOrigin } from '../store.js';

export interface RedisBusOptions {
  readonly namespace: string;
  /** Whose user the connections have (`roles/redis-pool-role.ts`); null: not that of a pool. */
  readonly pool: string | null;
  readonly warn: (message: string, error?: unknown) => void;
}

/**
 * PUBLISH and SUBSCRIBE, one connection each way. The workers of a pool may send on channels of their pool alone, which the
 * server sees to, and hear those and the channels of the installation. All others hear everything.
 */
export class RedisBus implements MessageBus {
  private readonly listeners = new Map<string, Set<MessageListener>>();
  private readonly reconnectListeners = new Set<() => void>();

  constructor(
    private readonly publisher: Redis,
    private readonly subscriber: Redis,
    private readonly options: RedisBusOptions,
  ) {
    const ofAll = `${options.namespace}:bus:`;
    const ofPools = poolChannels(options.namespace);
    const receive = (name: string, text: string): void => {
      if (name.startsWith(ofAll)) return this.deliver(name.slice(ofAll.length), text, null);
      const end = name.indexOf(':', ofPools.length);
      this.deliver(name.slice(end + 1), text, name.slice(ofPools.length, end));
    };
    subscriber.on('message', receive);
    subscriber.on('pmessage', (_pattern: string, name: string, text: string) => receive(name, text));
    // ioredis restores subscriptions by itself before it emits `ready`.
    subscriber.on('ready', () => {
      for (const listener of this.reconnectListeners) listener();
    });
  }

  async publish(channel: string, text: string): Promise<void> {
    const { namespace, pool } = this.options;
    const name = pool === null ? `${namespace}:bus:${channel}` : `${poolChannels(namespace)}${pool}:${channel}`;
    await this.publisher.publish(name, text);
  }

  async subscribe(channel: string, listener: MessageListener): Promise<() => void> {
    const { namespace, pool } = this.options;
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners);
    listeners.add(listener);
    await Promise.all([
      this.subscriber.subscribe(`${namespace}:bus:${channel}`),
      pool === null
        ? this.subscriber.psubscribe(`${poolChannels(namespace)}*:${channel}`)
        : this.subscriber.subscribe(`${poolChannels(namespace)}${pool}:${channel}`),
    ]);
    return () => listeners.delete(listener);
  }

  onDropped(): void {
    // The server bounds a message: `proto-max-bulk-len`.
  }

  isConnected(): boolean {
    return this.subscriber.status === 'ready';
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  private deliver(channel: string, text: string, origin: MessageOrigin): void {
    deliverMessage({ text, origin }, this.listeners.get(channel) ?? [], (error) =>
      this.options.warn(unreadableMessage, error),
    );
  }
}
