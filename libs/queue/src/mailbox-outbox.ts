import { randomBytes } from 'node:crypto';
import { encodeFrame, type FramePart } from './mailbox-frame.js';
import { backOffMs, pause, settlesWithin } from './store-call.js';
import type { MailboxLink } from './store.js';
import type { MailboxEvent, MailboxWriter } from './transport.js';

/** Events in one message: enough to amortise it, few enough not to delay the first of them. */
const eventsPerMessage = 1_000;

/** Events kept for one address while the store is away; past it the address is given up, and its slots see a gap. */
const maxWaitingEvents = 200_000;

/** How long a message is sent again and again before its address is given up, in ms. */
const giveUpAfterMs = 30_000;

interface StreamState {
  readonly requestId: string;
  readonly name: string;
  sent: number;
  waiting: MailboxEvent[];
}

/**
 * Worker side of all mailboxes of this process. Everything sent in one turn of the loop to one address leaves as one
 * message, and while a message is under way the next one gathers: the busier, the larger, never more than one in
 * flight per address, so that order holds without acknowledgements.
 */
export class MailboxOutbox {
  private readonly addresses = new Map<string, AddressQueue>();
  private readonly processName = randomBytes(6).toString('base64url');
  private streams = 0;

  constructor(private readonly link: MailboxLink) {}

  writer(address: string, requestId: string): MailboxWriter {
    this.streams += 1;
    const stream = { requestId, name: `${this.processName}.${this.streams}`, sent: 0, waiting: [] };
    return { send: (...events) => this.queueOf(address).push(stream, events) };
  }

  /** Resolves when everything has left, or after `timeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    const drained = Promise.all([...this.addresses.values()].map((queue) => queue.drained()));
    await settlesWithin(drained, timeoutMs);
  }

  private queueOf(address: string): AddressQueue {
    let queue = this.addresses.get(address);
    if (queue === undefined) {
      queue = new AddressQueue(this.link, address, () => this.addresses.delete(address));
      this.addresses.set(address, queue);
    }
    return queue;
  }
}

/** What waits for one address. Lives only while something does. */
class AddressQueue {
  private waiting = new Set<StreamState>();
  private waitingEvents = 0;
  private running: Promise<void> | null = null;

  constructor(
    private readonly link: MailboxLink,
    private readonly address: string,
    private readonly onEmpty: () => void,
  ) {}

  push(stream: StreamState, events: MailboxEvent[]): void {
    if (this.waitingEvents > maxWaitingEvents) this.giveUp();
    stream.waiting.push(...events);
    this.waiting.add(stream);
    this.waitingEvents += events.length;
    this.running ??= this.run();
  }

  async drained(): Promise<void> {
    await this.running;
  }

  private async run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.size > 0) {
      const delivered = await this.deliver(encodeFrame(this.takeBatch()));
      if (!delivered) this.giveUp();
    }
    this.running = null;
    this.onEmpty();
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

  private async deliver(message: string): Promise<boolean> {
    const giveUpAt = performance.now() + giveUpAfterMs;
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.link.send(this.address, [message]);
      } catch {
        // Sent again below: the reader drops what it has already seen.
        if (performance.now() > giveUpAt) return false;
        await pause(backOffMs(failures));
      }
    }
  }

  private giveUp(): void {
    for (const stream of this.waiting) {
      // Counted as sent: the reader must see the gap.
      stream.sent += stream.waiting.length;
      stream.waiting = [];
    }
    this.waiting.clear();
    this.waitingEvents = 0;
  }
}
