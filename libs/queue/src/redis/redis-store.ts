import { type BackendFactory, createRedisBackend, type IQueueBackend } from 'bullmq';
import type { Redis } from 'ioredis';
import { storeCall, storeUnavailable } from '../store-call.js';
import type { MailboxLink, MessageBus, Store, StoreConnection, StoreOptions } from '../store.js';
import { RedisBus } from './redis-bus.js';
import {
  checkServer,
  connectClient,
  failFastClient,
  patientClient,
  readerClient,
  readServerFacts,
} from './redis-clients.js';
import { RedisMailboxLink } from './redis-mailbox-link.js';

/** How long the first connection may take, in ms. */
const startTimeoutMs = 10_000;

/** Above this part of maxmemory the server is about to refuse work: readiness says so before requests find out. */
const fullAt = 0.98;

/** Redis: BullMQ on shared connections, PUBLISH for the bus, one stream per mailbox. */
export class RedisStore implements Store {
  readonly kind = 'redis';
  readonly bus: MessageBus;
  readonly mailboxLink: MailboxLink;
  private readonly readers: Redis[] = [];

  private constructor(
    readonly prefix: string,
    private readonly requests: Redis,
    private readonly work: Redis,
    private readonly subscriber: Redis,
    openReader: () => Redis,
  ) {
    this.bus = new RedisBus(requests, subscriber, prefix);
    const reader = () => {
      const client = openReader();
      this.readers.push(client);
      return client;
    };
    this.mailboxLink = new RedisMailboxLink(requests, reader, prefix);
  }

  static async open(options: StoreOptions): Promise<RedisStore> {
    const { url, namespace, clientName, warn } = options;
    const clients = {
      requests: failFastClient(url, clientName),
      work: patientClient(url, `${clientName}-work`),
      subscriber: patientClient(url, `${clientName}-bus`),
    };
    const { requests, work, subscriber } = clients;
    const report = (client: Redis) =>
      client.on('error', (error) => warn('A connection to Redis reported an error.', error));
    const openReader = () => {
      const client = readerClient(url, `${clientName}-mailbox`);
      report(client);
      return client;
    };
    try {
      for (const client of Object.values(clients)) {
        report(client);
        await connectClient(client, startTimeoutMs);
      }
      checkServer(await readServerFacts(requests), (message) => warn(message));
    } catch (error) {
      for (const client of Object.values(clients)) client.disconnect();
      throw error;
    }
    return new RedisStore(namespace, requests, work, subscriber, openReader);
  }

  // Producers share the connection that fails fast; workers the one that waits, besides a blocking one of their own.
  readonly backendFactory: BackendFactory<IQueueBackend, StoreConnection> = (name, options, factoryOptions) => {
    const connection = factoryOptions?.withBlockingConnection ? this.work : this.requests;
    return createRedisBackend(name, { ...options, connection }, factoryOptions);
  };

  isReachable(): boolean {
    return this.requests.status === 'ready';
  }

  async ping(): Promise<void> {
    await storeCall(async () => {
      const { usedMemoryBytes, maxMemoryBytes } = await readServerFacts(this.requests);
      if (maxMemoryBytes > 0 && usedMemoryBytes > maxMemoryBytes * fullAt)
        throw storeUnavailable(new Error('Redis is full'));
    });
  }

  async close(): Promise<void> {
    for (const client of [this.requests, this.work, this.subscriber, ...this.readers]) client.disconnect();
  }
}
