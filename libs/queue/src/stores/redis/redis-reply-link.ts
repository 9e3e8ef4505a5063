import type { Redis } from 'ioredis';
import { backOffMs, pause } from '../../contract/store-call.js';
import type { ReplyHandlers, ReplyLink } from '../../contract/store.js';

/** A stream without a reader for this long is deleted by the server, in seconds. */
const expirySeconds = 60;

/** Interval between renewals of the stream's expiry, trims of what is read, and checks that it still exists. */
const upkeepMs = 2_000;

/**
 * How many messages are kept for a reader that fell behind. Beyond it the oldest are dropped, and its reply streams see
 * the gap.
 */
const streamLength = 50_000;

const messagesPerRead = 200;
const blockMs = 5_000;

type StreamReply = [key: string, entries: [id: string, fields: string[]][]][] | null;

/**
 * Reply channels as Redis streams: one per address, read with XREAD from the last id seen, so that nothing is skipped.
 */
export class RedisReplyLink implements ReplyLink {
  constructor(
    private readonly writer: Redis,
    private readonly openReader: () => Redis,
    private readonly namespace: string,
  ) {}

  async send(address: string, messages: string[]): Promise<void> {
    const key = this.key(address);
    // Only the reader creates its stream: messages to an address that is gone must not pile up.
    const replies = messages.map((message) =>
      this.writer.xadd(key, 'NOMKSTREAM', 'MAXLEN', '~', streamLength, '*', 'm', message),
    );
    await Promise.all(replies);
  }

  async receive(address: string, handlers: ReplyHandlers): Promise<{ close(): Promise<void> }> {
    const reader = new StreamReader(this.writer, this.openReader(), this.key(address), handlers);
    await reader.start();
    return reader;
  }

  private key(address: string): string {
    return `${this.namespace}:reply:${address}`;
  }
}

class StreamReader {
  private lastId = '0-0';
  private trimmedId = '0-0';
  private closed = false;
  private timer: NodeJS.Timeout | undefined;
  private loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly commands: Redis,
    private readonly reader: Redis,
    private readonly key: string,
    private readonly handlers: ReplyHandlers,
  ) {}

  async start(): Promise<void> {
    this.lastId = await this.create();
    this.timer = setInterval(() => void this.upkeep(), upkeepMs);
    this.loop = this.read();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.timer);
    this.reader.disconnect();
    await this.loop;
    // If the server is unavailable, the key expires by itself later.
    await this.commands.del(this.key).catch(() => undefined);
  }

  /** Creates the stream with an empty message, whose id is where reading starts. */
  private async create(): Promise<string> {
    const replies = await this.commands.multi().xadd(this.key, '*', 'm', '').expire(this.key, expirySeconds).exec();
    const [error, id] = replies?.[0] ?? [null, null];
    if (error || typeof id !== 'string') throw error ?? new Error('Redis returned no id for the reply channel.');
    return id;
  }

  private async read(): Promise<void> {
    for (let failures = 0; !this.closed;) {
      try {
        const reply = await this.reader.xread(
          'COUNT',
          messagesPerRead,
          'BLOCK',
          blockMs,
          'STREAMS',
          this.key,
          this.lastId,
        );
        failures = 0;
        this.handle(reply as StreamReply);
      } catch {
        // The connection was lost: the client opens it again, and reading continues after the last id seen.
        failures += 1;
        if (!this.closed) await pause(backOffMs(failures, 500));
      }
    }
  }

  private handle(reply: StreamReply): void {
    for (const [, entries] of reply ?? []) {
      for (const [id, fields] of entries) {
        this.lastId = id;
        const message = fields[1];
        if (message) this.handlers.onMessage(message);
      }
    }
  }

  /** Renews the stream's expiry and trims it. A missing stream was lost with everything in it. */
  private async upkeep(): Promise<void> {
    try {
      const lives = await this.commands.expire(this.key, expirySeconds);
      if (this.closed) return;
      if (lives === 0) await this.recreate();
      else if (this.lastId !== this.trimmedId) await this.trim();
    } catch {
      // The server is unavailable. The next round finds out what it still has.
    }
  }

  private async recreate(): Promise<void> {
    await this.create();
    this.lastId = '0-0';
    this.handlers.onLost();
  }

  private async trim(): Promise<void> {
    const upTo = this.lastId;
    await this.commands.xtrim(this.key, 'MINID', '~', upTo);
    this.trimmedId = upTo;
  }
}
