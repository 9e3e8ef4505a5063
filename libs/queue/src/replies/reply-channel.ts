import { randomBytes } from 'node:crypto';
import { PlatformError } from '#common';
import { decodeFrame, type FramePart, type ResendRequest } from './reply-frame.js';
import { HeldReplies, ReplySubscriber } from './reply-subscriber.js';
import { ReplyPublisher } from './reply-publisher.js';
import { BufferedReplyStream } from './reply-stream.js';
import { pause } from '../contract/store-call.js';
import type { AnsweredRequest, ReplyChannel, ReplyStream, ReplyWriter } from '../contract/transport.js';
import { everyModel, type ScopedReplyLink } from '../contract/seals.js';
import type { VerifiedBus } from '../contract/message-bus.js';

/** How many bytes one reply stream may buffer for a slow reader. */
export const defaultReplyBufferBytes = 4 * 1_024 * 1_024;

const resendChannel = 'reply_resend';

/** Delays after which a disconnected reader asks again, in ms. Senders reconnect at their own times. */
const resendDelaysMs = [0, 250, 750, 2_000, 4_000];

/** Follows each request that has a reply stream in this process. */
export interface SlotFollower {
  /** Called when the first events of a delivery have arrived. */
  began(requestId: string): void;
  /** Called when its reply stream is closed. */
  ended(requestId: string): void;
}

/**
 * The reply channel of one process: one address, one reader, a reply stream per open request, and the publisher of what
 * it sends.
 */
export class LinkedReplyChannel implements ReplyChannel {
  readonly address = randomBytes(8).toString('hex');
  readonly publisher: ReplyPublisher;
  private readonly streams = new Map<string, { modelId: string; stream: BufferedReplyStream }>();
  /** Subscribers by scope, so that senders of one model cannot disturb the order of another's messages. */
  private readonly subscribers = new Map<string, ReplySubscriber>();
  private readonly held = new HeldReplies();
  private reading: Promise<{ close(): Promise<void> }> | null = null;
  private asking = false;
  private closed = false;

  constructor(
    private readonly link: ScopedReplyLink,
    private readonly bus: VerifiedBus,
    private readonly replyBufferBytes: number,
    private readonly follower: SlotFollower | null = null,
  ) {
    this.publisher = new ReplyPublisher(link);
    this.expect(everyModel);
  }

  /** Starts serving readers that lost messages; every sending process does. */
  async startSending(): Promise<void> {
    await this.bus.subscribe(resendChannel, (text, sender) => {
      if (sender.models !== null) return this.bus.refuse(resendChannel, sender);
      this.publisher.resend(JSON.parse(text) as ResendRequest);
    });
  }

  async start(): Promise<void> {
    this.reading ??= this.link.receive(this.address, {
      accepts: (scope) => this.subscribers.has(scope),
      onMessage: (text, scope) => {
        const frame = decodeFrame(text);
        if (frame !== null) this.subscribers.get(scope)?.receive(frame, text.length);
      },
      onLost: () => void this.askAgain(),
    });
    await this.reading;
  }

  open({ requestId, modelId }: AnsweredRequest): ReplyStream {
    this.expect(modelId);
    this.streams.get(requestId)?.stream.close();
    const stream: BufferedReplyStream = new BufferedReplyStream(this.replyBufferBytes, () => {
      if (this.streams.get(requestId)?.stream !== stream) return;
      this.streams.delete(requestId);
      this.follower?.ended(requestId);
    });
    this.streams.set(requestId, { modelId, stream });
    return stream;
  }

  writer(address: string, request: AnsweredRequest): ReplyWriter {
    return this.publisher.writer(address, request);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.publisher.close();
    for (const subscriber of this.subscribers.values()) subscriber.close();
    for (const { stream } of this.streams.values()) {
      stream.fail(new PlatformError('SERVICE_UNAVAILABLE', 'The service is stopping.'));
    }
    const reading = await this.reading;
    await reading?.close();
  }

  private expect(scope: string): void {
    if (this.subscribers.has(scope)) return;
    const subscriber = new ReplySubscriber(
      (part) => this.accept(part, scope),
      () => void this.askAgain(),
      this.held,
    );
    this.subscribers.set(scope, subscriber);
  }

  /** Drops events for closed reply streams, of an earlier run of this process, and from workers of other models. */
  private accept(part: FramePart, scope: string): void {
    const known = this.streams.get(part.requestId);
    if (known === undefined || (scope !== everyModel && scope !== known.modelId)) return;
    if (part.first === 0) this.follower?.began(part.requestId);
    known.stream.accept(part);
  }

  /**
   * Asks every sender for what this process may have missed. The reply streams notice what no sender has any longer.
   */
  private async askAgain(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    for (const delayMs of resendDelaysMs) {
      await pause(delayMs);
      if (this.closed) return;
      // One request for each scope, so that the workers of one model cannot lengthen the requests for others.
      for (const [scope, subscriber] of this.subscribers) {
        const request: ResendRequest = { address: this.address, next: { [scope]: subscriber.expected() } };
        // A request that cannot be sent is repeated with the next delay.
        await this.bus.publish(resendChannel, JSON.stringify(request)).catch(() => undefined);
      }
    }
    this.asking = false;
  }
}
