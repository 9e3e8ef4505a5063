import { createHash, randomUUID } from 'node:crypto';
import { PlatformError, type WireError } from '#common';
import { storeCall } from '../contract/store-call.js';
import type { BusMembership } from '../heartbeats/cluster-membership.js';
import type { ReplyChannel, ReplyEvent } from '../contract/transport.js';
import type { HostAnswerer, HostQuestion, HostQuestions } from '../contract/host-questions.js';
import type { BusSender, VerifiedBus } from '../contract/message-bus.js';

interface QuestionMessage extends HostQuestion {
  readonly id: string;
  readonly replyTo: string;
}

interface HostAnsweredEvent extends ReplyEvent {
  type: 'host-answered';
  answer?: object;
  error?: WireError;
}

/**
 * Questions over the store's bus, on a channel per worker. Only the installation may ask, because a pool must not ask
 * the hosts of another.
 */
export class BusHostQuestions implements HostQuestions {
  constructor(
    private readonly bus: VerifiedBus,
    private readonly replies: ReplyChannel,
    private readonly membership: BusMembership,
  ) {}

  async ask({ processId, modelId, question }: HostQuestion, timeoutMs: number): Promise<object> {
    const id = randomUUID();
    const message: QuestionMessage = { id, replyTo: this.replies.address, processId, modelId, question };
    const stream = this.replies.open({ requestId: id, modelId });
    const timer = setTimeout(() => stream.fail(noAnswer()), timeoutMs);
    try {
      await storeCall(() => this.bus.publish(channelOf(processId), JSON.stringify(message)));
      for await (const event of stream) return answerOf(event as HostAnsweredEvent);
      throw noAnswer();
    } finally {
      clearTimeout(timer);
      stream.close();
    }
  }

  async answer(answerer: HostAnswerer): Promise<() => void> {
    const { ownId } = this.membership;
    if (ownId === null) throw new Error('a process answers questions once it has joined the cluster');
    const channel = channelOf(ownId);
    return await this.bus.subscribe(channel, (text, sender) => {
      const message = this.accept(channel, text, sender);
      if (message?.processId === ownId) void this.respond(message, answerer);
    });
  }

  private accept(channel: string, text: string, sender: BusSender): QuestionMessage | null {
    if (sender.models === null) return readQuestion(text);
    this.bus.refuse(channel, sender);
    return null;
  }

  private async respond({ id, replyTo, ...question }: QuestionMessage, answerer: HostAnswerer): Promise<void> {
    const writer = this.replies.writer(replyTo, { requestId: id, modelId: question.modelId });
    const event: HostAnsweredEvent = { type: 'host-answered' };
    try {
      event.answer = await answerer(question);
    } catch (error) {
      event.error = PlatformError.from(error).toWire();
    }
    writer.send(event);
  }
}

function answerOf({ type, answer, error }: HostAnsweredEvent): object {
  if (type !== 'host-answered') throw noAnswer();
  if (error !== undefined) throw PlatformError.fromWire(error);
  return answer ?? {};
}

function noAnswer(): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The model did not answer in time.');
}

/** Returns a short name, because Postgres accepts channel names of 63 bytes at most. */
function channelOf(processId: string): string {
  return `host_${createHash('sha256').update(processId).digest('hex').slice(0, 16)}`;
}

/** Returns null for a text that no process of Sluice sends. */
function readQuestion(text: string): QuestionMessage | null {
  const value = JSON.parse(text) as Partial<Record<keyof QuestionMessage, unknown>> | null;
  const { id, replyTo, processId, modelId, question } = value ?? {};
  const isText = [id, replyTo, processId, modelId].every((value) => typeof value === 'string');
  return isText && typeof question === 'object' && question !== null ? (value as QuestionMessage) : null;
}
