import type { Redis } from 'ioredis';
import { isRightMissing } from '#platform/redis';
import { poolChannels } from '../../trust/pools/pool-role.js';
import { deliverMessage, unreadableMessage } from '../deliver-message.js';
import { backOffMs, pause } from '../../contract/store-call.js';
import type { MessageBus, MessageListener, MessageOrigin } from '../../contract/message-bus.js';

export interface RedisBusOptions {
  readonly namespace: string;
  /** The pool whose user the connections have (`trust/pools/redis-pool-role.ts`), or null for another user. */
  readonly pool: string | null;
  readonly warn: (message: string, error?: unknown) => void;
}

/**
 * The bus over Redis: PUBLISH and SUBSCRIBE, one connection each way. The server lets workers of a pool send only on
 * channels of their pool, and hear those and the channels of the installation. All others hear everything.
 */
export class RedisBus implements MessageBus {
  private readonly listeners = new Map<string, Set<MessageListener>>();
  private readonly reconnectListeners = new Set<() => void>();
  /** Counts the connections that were lost. */
  private losses = 0;
  /** False from the loss of a connection until all channels are heard again. */
  private isHearing = true;
  private hasWarnedOfPools = false;

  /** `subscriber` must not restore subscriptions by itself: ioredis lets a refused one end the process. */
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
    subscriber.on('close', () => {
      this.losses += 1;
      this.isHearing = false;
    });
    subscriber.on('ready', () => void this.hearAgain());
  }

  async publish(channel: string, text: string): Promise<void> {
    const { namespace, pool } = this.options;
    const name = pool === null ? `${namespace}:bus:${channel}` : `${poolChannels(namespace)}${pool}:${channel}`;
    await this.publisher.publish(name, text);
  }

  async subscribe(channel: string, listener: MessageListener): Promise<() => void> {
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners);
    listeners.add(listener);
    try {
      await this.hear(channel);
    } catch (error) {
      listeners.delete(listener);
      throw error;
    }
    return () => listeners.delete(listener);
  }

  private async hear(channel: string): Promise<void> {
    const { namespace, pool } = this.options;
    await Promise.all([
      this.subscriber.subscribe(`${namespace}:bus:${channel}`),
      pool === null ? this.hearPools() : this.subscriber.subscribe(`${poolChannels(namespace)}${pool}:${channel}`),
    ]);
  }

  /**
   * Subscribes to all channels of pools in one pattern, because the server compares it letter by letter with the
   * patterns that the user may hear.
   */
  private async hearPools(): Promise<void> {
    const { namespace, warn } = this.options;
    const pattern = `${poolChannels(namespace)}*`;
    try {
      await this.subscriber.psubscribe(pattern);
    } catch (error) {
      if (!isRightMissing(error)) throw error;
      if (this.hasWarnedOfPools) return;
      this.hasWarnedOfPools = true;
      const needed = `+psubscribe &${namespace}:bus:* &${pattern}`;
      warn(
        `Workers with credentials of their pool are not heard: the Redis user of this process needs ${needed}.`,
        error,
      );
    }
  }

  private async hearAgain(): Promise<void> {
    const { losses } = this;
    for (let failures = 1; !(await this.hearAll()); failures += 1) {
      await pause(backOffMs(failures));
      if (losses !== this.losses) return;
    }
    // The next connection has its own call.
    if (losses !== this.losses) return;
    this.isHearing = true;
    for (const listener of this.reconnectListeners) listener();
  }

  private async hearAll(): Promise<boolean> {
    const channels = [...this.listeners].filter(([, { size }]) => size > 0);
    try {
      await Promise.all(channels.map(([channel]) => this.hear(channel)));
      return true;
    } catch (error) {
      if (this.subscriber.status === 'ready')
        this.options.warn('Redis refused a channel of the bus, and is asked again.', error);
      return false;
    }
  }

  onDropped(): void {
    // Nothing is dropped here: the server bounds a message by `proto-max-bulk-len`.
  }

  isConnected(): boolean {
    return this.isHearing && this.subscriber.status === 'ready';
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
