import { randomBytes, randomInt } from 'node:crypto';
import { type EventEmitter, setMaxListeners } from 'node:events';
import { backOffMs, pause, settlesWithin } from '../../contract/store-call.js';
import { deliverMessage, unreadableMessage } from '../deliver-message.js';
import type { ListenClient, SharedPostgresConnection } from '../../connections/postgres-connection.js';
import { poolRolePrefix } from '../../trust/pools/pool-role.js';
import { SenderPools } from '../../trust/pools/sender-pools.js';
import { PartCollector, tooLarge, toParts } from './text-parts.js';
import {
  type DropListener,
  type MessageBus,
  type MessageListener,
  type MessageOrigin,
  unknownOrigin,
} from '../../contract/message-bus.js';

/** Interval between health checks of the listening connection, and their timeout, in ms. */
const askEveryMs = 3_000;
const answerWithinMs = 4_000;

/**
 * The upper bound of the random number of a text. A process that knew the next number could send parts of that text
 * first, and the text would be lost.
 */
const maxTextNumber = 2 ** 47;

/**
 * The largest message and reply. The largest replies are batches of vectors: 2,048 with 1,024 numbers each take some 45
 * MB.
 */
const maxTextBytes = 1_024 * 1_024;
const maxReplyBytes = 128 * 1_024 * 1_024;

/**
 * Bounds on messages that wait until the server has identified their session: their number, their characters, and their
 * time in ms.
 */
const maxWaiting = 10_000;
const maxWaitingCharacters = 4 * 1_024 * 1_024;
const maxWaitMs = 1_000;

interface Notification {
  channel: string;
  payload?: string;
  /** Number of the session that sent it. */
  processId?: number;
}

interface Channel {
  /** Name without the namespace. */
  readonly channel: string;
  /** True when its listeners are told whose session sent a message. */
  readonly namesOrigin: boolean;
  readonly collector: PartCollector;
  readonly listeners: Set<MessageListener>;
  /** Resolves when the server has confirmed the LISTEN; later callers must not assume it earlier. */
  readonly heard: Promise<unknown>;
}

/** The bus over Postgres: LISTEN on the process's single listening connection, NOTIFY through its pool. */
export class PostgresBus implements MessageBus {
  private readonly channels = new Map<string, Channel>();
  private readonly reconnectListeners = new Set<() => void>();
  private readonly sender = randomBytes(6).toString('hex');
  private closed = false;
  private connected = true;
  private client: ListenClient | null = null;
  private readonly asking: NodeJS.Timeout;
  private isAsking = false;
  private isReturning = false;
  private readonly senders: SenderPools;
  private waiting: { entry: Channel; text: string; processId: number }[] = [];
  private waitingCharacters = 0;
  private waitTimer: NodeJS.Timeout | undefined;
  private drop: DropListener = () => undefined;

  constructor(
    private readonly connection: SharedPostgresConnection,
    private readonly namespace: string,
  ) {
    this.senders = new SenderPools({
      query: (sql, values) => connection.pool.query(sql, values),
      prefix: poolRolePrefix(namespace),
      onLook: () => this.deliverWaiting(),
    });
    connection.on('listenerinvalidated', () => void this.listenAgain());
    this.asking = setInterval(() => void this.askForLife(), askEveryMs);
    this.asking.unref();
  }

  async publish(channel: string, text: string): Promise<void> {
    await this.publishAll(channel, [text]);
  }

  /** Sends texts in order, in one statement. */
  async publishAll(channel: string, texts: string[]): Promise<void> {
    const payloads = texts.flatMap((text) => toParts(this.sender, randomInt(maxTextNumber), text));
    const statement = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload';
    await this.connection.pool.query(statement, [this.name(channel), payloads]);
  }

  subscribe(channel: string, listener: MessageListener): Promise<() => void> {
    return this.listen(channel, listener, { maxBytes: maxTextBytes, namesOrigin: true });
  }

  /** Subscribes to replies, which may be long, wait for nothing, and come without their origin. */
  subscribeReplies(channel: string, listener: (text: string) => void): Promise<() => void> {
    return this.listen(channel, listener, { maxBytes: maxReplyBytes, namesOrigin: false });
  }

  private async listen(
    channel: string,
    listener: MessageListener,
    options: { maxBytes: number; namesOrigin: boolean },
  ): Promise<() => void> {
    const name = this.name(channel);
    const entry = this.channels.get(name) ?? this.open(name, channel, options);
    entry.listeners.add(listener);
    try {
      await entry.heard;
    } catch (error) {
      entry.listeners.delete(listener);
      if (this.channels.get(name) === entry) this.channels.delete(name);
      throw error;
    }
    return () => entry.listeners.delete(listener);
  }

  private open(name: string, channel: string, options: { maxBytes: number; namesOrigin: boolean }): Channel {
    const heard = this.listeningClient().then((client) => client.query(`LISTEN "${name}"`));
    const collector = new PartCollector(options.maxBytes);
    const { namesOrigin } = options;
    const entry = { channel, namesOrigin, collector, listeners: new Set<MessageListener>(), heard };
    this.channels.set(name, entry);
    return entry;
  }

  onDropped(listener: DropListener): void {
    this.drop = listener;
  }

  isConnected(): boolean {
    return this.connected;
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  close(): void {
    this.closed = true;
    clearInterval(this.asking);
    clearTimeout(this.waitTimer);
  }

  /** A connection that only listens would never notice that the other side is gone. */
  private async askForLife(): Promise<void> {
    const { client } = this;
    if (!this.connected || client === null || this.isAsking) return;
    this.isAsking = true;
    const lives = await settlesWithin(client.query('SELECT 1'), answerWithinMs);
    this.isAsking = false;
    if (!lives && !this.closed && client === this.client) this.connection.renewListener();
  }

  private async listeningClient(): Promise<ListenClient> {
    const client = await this.connection.getListenClient();
    if (client !== this.client) {
      this.client = client;
      // Every queue of this process also listens here. Without a higher limit, Node would warn of a leak from the
      // eleventh on.
      setMaxListeners(0, client as unknown as EventEmitter);
      client.on('notification', (notification) => this.receive(notification));
    }
    return client;
  }

  private receive({ channel: name, payload = '', processId = 0 }: Notification): void {
    const entry = this.channels.get(name);
    if (entry === undefined) return;
    const text = entry.collector.add(payload);
    if (text === null) return;
    const origin = entry.namesOrigin ? this.senders.originOf(processId) : null;
    if (text === tooLarge) return this.drop(entry.channel, 'too-large', origin);
    if (origin === unknownOrigin && this.keep({ entry, text, processId })) return;
    this.deliver(entry, text, origin);
  }

  private keep(message: { entry: Channel; text: string; processId: number }): boolean {
    const isFull =
      this.waiting.length >= maxWaiting || this.waitingCharacters + message.text.length > maxWaitingCharacters;
    if (isFull) return false;
    if (this.waiting.length === 0) this.waitTimer = setTimeout(() => this.deliverWaiting(), maxWaitMs).unref();
    this.waiting.push(message);
    this.waitingCharacters += message.text.length;
    return true;
  }

  /**
   * Messages are delivered in order, and before any later one. A session that has ended in the meantime stays unknown.
   */
  private deliverWaiting(): void {
    const { waiting } = this;
    clearTimeout(this.waitTimer);
    this.waiting = [];
    this.waitingCharacters = 0;
    for (const { entry, text, processId } of waiting) this.deliver(entry, text, this.senders.originOf(processId));
  }

  private deliver({ listeners }: Channel, text: string, origin: MessageOrigin): void {
    deliverMessage({ text, origin }, listeners, (cause) => {
      this.connection.emit('error', new Error(unreadableMessage, { cause }));
    });
  }

  private async listenAgain(): Promise<void> {
    this.connected = false;
    // A client that breaks in the meantime emits another error, which its user handles.
    if (this.isReturning) return;
    this.isReturning = true;
    try {
      for (let failures = 1; !this.closed && !(await this.listenToAll()); failures += 1) {
        // Postgres is still unavailable.
        await pause(backOffMs(failures, 500));
      }
    } finally {
      this.isReturning = false;
    }
  }

  private async listenToAll(): Promise<boolean> {
    let client: ListenClient | null = null;
    try {
      client = await this.listeningClient();
      for (const name of this.channels.keys()) await client.query(`LISTEN "${name}"`);
    } catch {
      // The session has connected and sends nothing, so asking again would change nothing.
      if (client !== null) this.connection.breakOff(client);
      return false;
    }
    this.connected = true;
    for (const listener of this.reconnectListeners) this.tellOfReturn(listener);
    return true;
  }

  /** A failing listener affects neither the others nor the bus. */
  private tellOfReturn(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.connection.emit('error', error);
    }
  }

  private name(channel: string): string {
    return `${this.namespace}_${channel}`;
  }
}
