import { randomBytes } from 'node:crypto';
import { PlatformError } from '#common';
import { decodeFrame, type FramePart, type ResendRequest } from './reply-frame.js';
import { ReplySubscriber } from './reply-subscriber.js';
import { ReplyPublisher } from './reply-publisher.js';
import { BufferedReplyStream } from './reply-stream.js';
import { pause } from '../backends/store-call.js';
import type { ReplyLink, MessageBus } from '../backends/store.js';
import type { ReplyChannel, ReplyStream, ReplyWriter } from '../transport.js';

/** Bytes one reply stream may buffer for a slow reader. */
export const defaultReplyBufferBytes = 4 * 1_024 * 1_024;

const resendChannel = 'reply_resend';

/** When a disconnected reader asks again, in ms after the disconnect: senders reconnect at their own times. */
const resendDelaysMs = [0, 250, 750, 2_000, 4_000];

/** Called for each request with a reply stream here. */
export interface SlotFollower {
  /** The first events of a delivery have arrived. */
  began(requestId: string): void;
  /** Its reply stream is closed. */
  ended(requestId: string): void;
}

/**
 * The reply channel of one process: one address, one reader, a reply stream per open request; and the publisher of what
 * it sends.
 */
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
    // Events for closed reply streams, or of an earlier run of this process, are dropped.
    this.subscriber = new ReplySubscriber(
      (part) => this.accept(part),
      () => void this.askAgain(),
    );
  }

  /** Starts serving readers that lost messages; every sending process does. */
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

  /**
   * Asks every sender for what this process may have missed. What none has any more, the reply streams notice or wait
   * for.
   */
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
