import { randomBytes } from 'node:crypto';
import { PlatformError } from '#common';
import { decodeFrame, type FramePart, type ResendRequest } from './reply-frame.js';
import { ReplySubscriber } from './reply-subscriber.js';
import { ReplyPublisher } from './reply-publisher.js';
import { BufferedReplyStream } from './reply-stream.js';
import { pause } from '../backends/store-call.js';
import type { ReplyLink, MessageBus } from '../backends/store.js';
import type { ReplyChannel, ReplyStream, ReplyWriter } from '../transport.js';

/** Bytes one slot may hold for a slow reader. */
export const defaultReplyBufferBytes = 4 * 1_024 * 1_024;

const resendChannel = 'reply_resend';

/** When a reader that was cut off asks again, in ms after the cut: senders come back at their own times. */
const resendDelaysMs = [0, 250, 750, 2_000, 4_000];

/** Told of each request with a slot here. */
export interface SlotFollower {
  /** The first events of a delivery are here. */
  began(requestId: string): void;
  /** Its slot is closed. */
  ended(requestId: string): void;
}

/** The mailbox of one process: one address, one reader, a slot per open request; and the outbox of what it sends. */
export class LinkedReplyChannel implements ReplyChannel {
  readonly address = randomBytes(8).toString('hex');
  readonly publisher: ReplyPublisher;
  private readonly streams = new Map<string, BufferedReplyStream>();
  private readonly subscriber: ReplySubscriber;
  private reading: Promise<{ close(): Promise<void> }> | null = null;
  private asking = false;
  private closed = false;

  constructor(
    private readonly link: ReplyLink,
    private readonly bus: MessageBus,
    private readonly replyBufferBytes: number,
    private readonly follower: SlotFollower | null = null,
  ) {
    this.publisher = new ReplyPublisher(link);
    // Events for slots that are closed, or of another life of this process, are nobody's any more.
    this.subscriber = new ReplySubscriber(
      (part) => this.accept(part),
      () => void this.askAgain(),
    );
  }

  /** Starts answering readers that lost messages; every process that sends does. */
  async startSending(): Promise<void> {
    await this.bus.subscribe(resendChannel, (text) => this.publisher.resend(JSON.parse(text) as ResendRequest));
  }

  async start(): Promise<void> {
    this.reading ??= this.link.receive(this.address, {
      onMessage: (text) => this.subscriber.receive(decodeFrame(text)),
      onLost: () => void this.askAgain(),
    });
    await this.reading;
  }

  open(requestId: string): ReplyStream {
    this.streams.get(requestId)?.close();
    const stream: BufferedReplyStream = new BufferedReplyStream(this.replyBufferBytes, () => {
      if (this.streams.get(requestId) !== stream) return;
      this.streams.delete(requestId);
      this.follower?.ended(requestId);
    });
    this.streams.set(requestId, stream);
    return stream;
  }

  writer(address: string, requestId: string): ReplyWriter {
    return this.publisher.writer(address, requestId);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.publisher.close();
    this.subscriber.close();
    for (const stream of this.streams.values()) {
      stream.fail(new PlatformError('SERVICE_UNAVAILABLE', 'The service is stopping.'));
    }
    const reading = await this.reading;
    await reading?.close();
  }

  private accept(part: FramePart): void {
    if (part.first === 0) this.follower?.began(part.requestId);
    this.streams.get(part.requestId)?.accept(part);
  }

  /** Asks every sender for what this process may have missed. What none has any more, the slots notice or wait for. */
  private async askAgain(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    for (const delayMs of resendDelaysMs) {
      await pause(delayMs);
      if (this.closed) return;
      const request: ResendRequest = { address: this.address, next: this.subscriber.expected() };
      // A request that cannot be sent is repeated with the next delay.
      await this.bus.publish(resendChannel, JSON.stringify(request)).catch(() => undefined);
    }
    this.asking = false;
  }
}
