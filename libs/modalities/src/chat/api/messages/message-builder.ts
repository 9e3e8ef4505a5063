import type { TokenUsage } from '#common';
import { isObject } from '#common/values';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { MessagesBlock, MessagesStopReason, MessagesUsage } from '../../contract/messages/messages.response.js';

/** An event of a streamed message. */
export interface MessagesEvent {
  type: string;
  [member: string]: unknown;
}

export interface MessageOptions {
  /** Leaves the text of the reasoning out: the signature has it. */
  omitsThinking: boolean;
  /** Encrypts reasoning for the account. */
  sign: (text: string) => string;
}

/** The block that is being generated, with its text so far. */
interface OpenBlock {
  block: MessagesBlock;
  text: string[];
}

/**
 * Builds the content of a message from the events of its chat, and the stream events of each step: what is collected and
 * what is streamed cannot differ.
 */
export class MessageBuilder {
  readonly content: MessagesBlock[] = [];
  stopReason: MessagesStopReason = 'end_turn';
  stopSequence: string | null = null;
  private open: OpenBlock | null = null;

  constructor(private readonly options: MessageOptions) {}

  /** Takes in an event; returns the stream events that follow from it. */
  add(event: ChatEvent): MessagesEvent[] {
    switch (event.type) {
      case 'text-delta':
        return event.channel === 'reasoning' ? this.addThinking(event.text) : this.addText(event.text);
      case 'tool-call': {
        const { id, name } = event;
        return this.begin({ type: 'tool_use', id, name, input: {} });
      }
      case 'tool-call-delta':
        return this.addInput(event.text);
      case 'choice-finished':
        return this.finish(event);
      default:
        return [];
    }
  }

  private addText(text: string): MessagesEvent[] {
    if (text === '') return [];
    const opening = this.open?.block.type === 'text' ? [] : this.begin({ type: 'text', text: '', citations: null });
    this.open?.text.push(text);
    return [...opening, this.delta({ type: 'text_delta', text })];
  }

  private addThinking(text: string): MessagesEvent[] {
    if (text === '') return [];
    const opening =
      this.open?.block.type === 'thinking' ? [] : this.begin({ type: 'thinking', thinking: '', signature: '' });
    this.open?.text.push(text);
    return this.options.omitsThinking ? opening : [...opening, this.delta({ type: 'thinking_delta', thinking: text })];
  }

  private addInput(text: string): MessagesEvent[] {
    if (text === '' || this.open?.block.type !== 'tool_use') return [];
    this.open.text.push(text);
    return [this.delta({ type: 'input_json_delta', partial_json: text })];
  }

  private finish({ finishReason, stopString }: Extract<ChatEvent, { type: 'choice-finished' }>): MessagesEvent[] {
    if (finishReason === 'length') this.stopReason = 'max_tokens';
    else if (finishReason === 'tool_calls') this.stopReason = 'tool_use';
    else if (stopString !== undefined) {
      this.stopReason = 'stop_sequence';
      this.stopSequence = stopString;
    }
    return this.close();
  }

  /** Closes the block before and adds one. */
  private begin(block: MessagesBlock): MessagesEvent[] {
    const closing = this.close();
    this.open = { block, text: [] };
    this.content.push(block);
    const started = { type: 'content_block_start', index: this.index, content_block: structuredClone(block) };
    return [...closing, started];
  }

  private close(): MessagesEvent[] {
    const { open, index } = this;
    if (open === null) return [];
    const signed = this.settle(open.block, open.text.join(''));
    this.open = null;
    return [...signed, { type: 'content_block_stop', index }];
  }

  /** Writes the text of a block into it. Returns the event of its signature, if it has one. */
  private settle(block: MessagesBlock, text: string): MessagesEvent[] {
    if (block.type === 'text') block.text = text;
    else if (block.type === 'tool_use') block.input = inputOf(text);
    else {
      block.thinking = this.options.omitsThinking ? '' : text;
      block.signature = this.options.sign(text);
      return [this.delta({ type: 'signature_delta', signature: block.signature })];
    }
    return [];
  }

  private get index(): number {
    return this.content.length - 1;
  }

  private delta(delta: object): MessagesEvent {
    return { type: 'content_block_delta', index: this.index, delta };
  }
}

/**
 * The arguments of a call as an object. Those that the output limit cut are kept as text, under the name by which they are
 * shown to the model when they come back.
 */
function inputOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    if (isObject(value)) return value;
  } catch {
    // Cut in the middle.
  }
  return { invalid_arguments: text };
}

/** Tokens that were read from a cache, or written for a part to cache, are not among the input tokens. */
export function presentMessagesUsage(usage: TokenUsage): MessagesUsage {
  const { promptTokens, cachedTokens, cacheWriteTokens = 0, completionTokens, reasoningTokens } = usage;
  return {
    input_tokens: promptTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  };
}
