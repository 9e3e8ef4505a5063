import { noTokens, PlatformError, type TokenUsage } from '#common';
import type { EventPresenter } from '#gateway';
import { anthropicError } from '#gateway/errors';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import type { MessagesResponse } from '../../contract/messages/messages.response.js';
import type { FinishedTextCheck } from '../chat/finished-text-check.js';
import type { FieldNames } from '../job/field-names.js';
import { typedFrame } from '../job/typed-frame.js';
import { MessageBuilder, type MessageOptions, type MessagesEvent, presentMessagesUsage } from './message-builder.js';

/** Members of a message that do not change while it is generated. */
export interface MessagesHead {
  requestId: string;
  /** The id that the requested model resolved to. */
  modelId: string;
  warnings: readonly ChatWarning[];
}

export function messageId(requestId: string): string {
  return `msg_${requestId}`;
}

function warningsMember(warnings: readonly ChatWarning[]): { warnings?: ChatWarning[] } {
  return warnings.length === 0 ? {} : { warnings: [...warnings] };
}

function presentMessage(
  { requestId, modelId, warnings }: MessagesHead,
  { content, stopReason, stopSequence }: Pick<MessageBuilder, 'content' | 'stopReason' | 'stopSequence'>,
  usage: TokenUsage,
): MessagesResponse {
  return {
    id: messageId(requestId),
    type: 'message',
    role: 'assistant',
    model: modelId,
    content,
    stop_reason: stopReason,
    stop_sequence: stopSequence,
    usage: presentMessagesUsage(usage),
    ...warningsMember(warnings),
  };
}

/** Collects the events of one message for a client that does not stream. */
export class MessageCollector {
  private readonly builder: MessageBuilder;

  constructor(
    private readonly head: MessagesHead,
    options: MessageOptions,
    private readonly check: FinishedTextCheck,
  ) {
    this.builder = new MessageBuilder(options);
  }

  add(event: ChatEvent): void {
    this.check.add(event);
    this.builder.add(event);
  }

  message(usage: TokenUsage): MessagesResponse {
    const head = { ...this.head, warnings: [...this.head.warnings, ...this.check.warnings] };
    return presentMessage(head, this.builder, usage);
  }
}

/** The format of the events of messages. Every event begins with its type. */
export class MessagesFormat {
  /** Keeps a silent connection open. */
  readonly keepAlive = 'event: ping\ndata: {"type":"ping"}\n\n';
  /** `message_stop` is the end of a stream. */
  readonly ending = '';

  constructor(protected readonly requestId: string) {}

  frame(json: string): string {
    return typedFrame(json);
  }

  fail(error: PlatformError): string[] {
    return [JSON.stringify(anthropicError(error, this.requestId))];
  }
}

/** Converts the events of one chat to those of a streamed message. */
export class MessagesStreamPresenter extends MessagesFormat implements EventPresenter<ChatEvent> {
  private readonly builder: MessageBuilder;
  private readonly check: FinishedTextCheck;
  private isOpened = false;
  private outputSent = false;
  private warningsSent = 0;

  constructor(
    private readonly head: MessagesHead,
    private readonly names: FieldNames,
    { check, ...options }: MessageOptions & { check: FinishedTextCheck },
  ) {
    super(head.requestId);
    this.builder = new MessageBuilder(options);
    this.check = check;
  }

  /** Throws `INFERENCE_FAILED` if another worker took the job over after part of the message was sent. */
  present(event: ChatEvent): string[] {
    if (event.type === 'prompt-ready' && this.outputSent) {
      throw new PlatformError('INFERENCE_FAILED', 'The response was interrupted.');
    }
    this.outputSent ||= event.type !== 'prompt-ready';
    this.check.add(event);
    const usage = event.type === 'prompt-ready' ? { ...noTokens, ...promptOf(event) } : noTokens;
    return [...this.opening(usage), ...this.builder.add(event)].map(written);
  }

  finish(usage: TokenUsage): string[] {
    const { stopReason, stopSequence } = this.builder;
    const found = this.check.warnings.slice(this.warningsSent);
    const ended: MessagesEvent = {
      type: 'message_delta',
      delta: { stop_reason: stopReason, stop_sequence: stopSequence },
      usage: presentMessagesUsage(usage),
      ...warningsMember(found),
    };
    return [...this.opening(noTokens), ended, { type: 'message_stop' }].map(written);
  }

  /** An `error` event, which clients throw. */
  override fail(error: PlatformError): string[] {
    return super.fail(this.names.rename(error) as PlatformError);
  }

  private opening(usage: TokenUsage): MessagesEvent[] {
    if (this.isOpened) return [];
    this.isOpened = true;
    const found = this.check.warnings;
    this.warningsSent = found.length;
    const head = { ...this.head, warnings: [...this.head.warnings, ...found] };
    const message = { ...presentMessage(head, this.builder, usage), content: [], stop_reason: null };
    return [{ type: 'message_start', message }];
  }
}

function promptOf({ promptTokens, cachedTokens }: Extract<ChatEvent, { type: 'prompt-ready' }>) {
  return { promptTokens, cachedTokens };
}

function written({ type, ...members }: MessagesEvent): string {
  return JSON.stringify({ type, ...members });
}
