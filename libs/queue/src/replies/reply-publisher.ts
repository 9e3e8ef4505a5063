import { randomBytes } from 'node:crypto';
import { encodeFrame, type FramePart, type ResendRequest } from './reply-frame.js';
import { resendableMs } from './reply-subscriber.js';
import { backOffMs, pause, settlesWithin } from '../contract/store-call.js';
import type { AnsweredRequest, ReplyEvent, ReplyWriter } from '../contract/transport.js';
import type { ReplyTarget, ScopedReplyLink } from '../contract/seals.js';

/** The most events per message: enough to amortize it, few enough not to delay the first event. */
const eventsPerMessage = 1_000;

/**
 * How many events are kept for one address while the store is unavailable. Beyond it the address is abandoned, and its
 * reply streams see a gap.
 */
const maxWaitingEvents = 200_000;

/** How long a message is retried before its address is abandoned, in ms. */
const giveUpAfterMs = 30_000;

/**
 * Bounds on sent messages that are kept for a reader that lost some: their newest characters, and the time after the
 * last one.
 */
const maxSentCharacters = 2 * 1_024 * 1_024;

interface StreamState {
  readonly requestId: string;
  readonly name: string;
  sent: number;
  waiting: ReplyEvent[];
}

/**
 * The sending side of all reply channels. Everything sent in one turn of the event loop to one address leaves as one
 * message, and while a message is in flight the next one gathers. The higher the load, the larger the messages; with at
 * most one in flight per address, order holds without acknowledgements.
 */
export class ReplyPublisher {
  private readonly addresses = new Map<string, AddressQueue>();
  private readonly processName = randomBytes(6).toString('base64url');
  private counter = 0;

  constructor(private readonly link: ScopedReplyLink) {}

  writer(address: string, { requestId, modelId }: AnsweredRequest): ReplyWriter {
    const scope = this.link.scopeOf(modelId);
    // A process without a key for the model cannot open its jobs either.
    if (scope === null) return { send: () => undefined };
    const stream = { requestId, name: this.newName(), sent: 0, waiting: [] };
    return { send: (...events) => this.queueOf({ address, scope }).push(stream, events) };
  }

  /** Resends what a reader misses, as far as it is still available. */
  resend({ address, next }: ResendRequest): void {
    for (const queue of this.addresses.values()) if (queue.target.address === address) queue.resend(next);
  }

  /** Resolves when everything has been sent, or after `timeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    const drained = Promise.all([...this.addresses.values()].map((queue) => queue.drained()));
    await settlesWithin(drained, timeoutMs);
  }

  close(): void {
    for (const queue of this.addresses.values()) queue.close();
  }

  private newName(): string {
    this.counter += 1;
    return `${this.processName}.${this.counter}`;
  }

  private queueOf(target: ReplyTarget): AddressQueue {
    const name = `${target.address} ${target.scope}`;
    let queue = this.addresses.get(name);
    if (queue === undefined) {
      queue = new AddressQueue(this.link, target, this.newName(), () => this.addresses.delete(name));
      this.addresses.set(name, queue);
    }
    return queue;
  }
}

/** Pending and recently sent messages of one address and scope. Dropped when nothing was sent for a while. */
class AddressQueue {
  private readonly waiting = new Set<StreamState>();
  private waitingEvents = 0;
  private running: Promise<void> | null = null;
  private nextNumber = 0;
  private sent: { number: number; message: string }[] = [];
  private characters = 0;
  private again: string[] = [];
  private idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly link: ScopedReplyLink,
    readonly target: ReplyTarget,
    private readonly sender: string,
    private readonly onIdle: () => void,
  ) {}

  push(stream: StreamState, events: ReplyEvent[]): void {
    if (this.waitingEvents > maxWaitingEvents) this.giveUp();
    for (const event of events) stream.waiting.push(event);
    this.waiting.add(stream);
    this.waitingEvents += events.length;
    this.running ??= this.run();
  }

  resend(next: ResendRequest['next']): void {
    const known = next[this.target.scope];
    // A request concerns only the scopes that it names.
    if (known === undefined) return;
    const from = known[this.sender] ?? 0;
    const missing = this.sent.filter(({ number }) => number >= from);
    if (missing.length === 0) return;
    this.again = missing.map(({ message }) => message);
    this.running ??= this.run();
  }

  async drained(): Promise<void> {
    await this.running;
  }

  close(): void {
    clearTimeout(this.idle);
    this.giveUp();
  }

  private async run(): Promise<void> {
    clearTimeout(this.idle);
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.size > 0 || this.again.length > 0) {
      const messages = this.again.splice(0);
      if (this.waiting.size > 0) messages.push(this.nextMessage());
      const delivered = await this.deliver(messages);
      if (!delivered) this.giveUp();
    }
    this.running = null;
    this.idle = setTimeout(this.onIdle, resendableMs).unref();
  }

  private nextMessage(): string {
    const number = this.nextNumber;
    this.nextNumber += 1;
    const message = encodeFrame({ sender: this.sender, number, parts: this.takeBatch() });
    this.sent.push({ number, message });
    this.characters += message.length;
    while (this.characters > maxSentCharacters && this.sent.length > 1) {
      this.characters -= this.sent.shift()?.message.length ?? 0;
    }
    return message;
  }

  private takeBatch(): FramePart[] {
    const parts: FramePart[] = [];
    let room = eventsPerMessage;
    for (const stream of this.waiting) {
      if (room <= 0) break;
      const events = stream.waiting.splice(0, room);
      parts.push({ requestId: stream.requestId, stream: stream.name, first: stream.sent, events });
      stream.sent += events.length;
      room -= events.length;
      this.waitingEvents -= events.length;
      if (stream.waiting.length === 0) this.waiting.delete(stream);
    }
    return parts;
  }

  /** Returns false when the store was unavailable for too long. */
  private async deliver(messages: string[]): Promise<boolean> {
    const giveUpAt = performance.now() + giveUpAfterMs;
    for (let failures = 1; ; failures += 1) {
      try {
        await this.link.send(this.target, messages);
        return true;
      } catch {
        // The messages are resent below, and the reader drops what it has already seen.
        if (performance.now() > giveUpAt) return false;
        await pause(backOffMs(failures));
      }
    }
  }

  private giveUp(): void {
    for (const stream of this.waiting) {
      // The events count as sent, so that the reader sees the gap.
      stream.sent += stream.waiting.length;
      stream.waiting = [];
    }
    this.waiting.clear();
    this.waitingEvents = 0;
    this.again = [];
  }
}
