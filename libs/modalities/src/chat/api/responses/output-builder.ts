import type { ChatEvent, TextDeltaEvent, TokenLogprob, ToolCallEvent } from '../../contract/chat.events.js';
import type {
  ResponsesCustomToolCall,
  ResponsesFunctionCall,
  ResponsesItemStatus,
  ResponsesLogprob,
  ResponsesMessage,
  ResponsesOutputItem,
  ResponsesReasoningOutput,
} from '../../contract/responses/responses.response.js';
import { presentLogprobs } from '../chat/chat.presenter.js';
import type { WebCall } from '../job/web-source.js';
import { CustomInputReader } from '../job/custom-input.js';
import type { ToolNames } from './tool-names.js';
import { urlCitations } from './url-citations.js';
import { presentWebCall } from './web-calls.js';

/** An event of a streamed response, before it gets its sequence number. */
export interface ResponsesStreamEvent {
  type: string;
  [member: string]: unknown;
}

export interface OutputOptions {
  /** Part of the ids of items. */
  requestId: string;
  withLogprobs: boolean;
  /** Sends the reasoning as a summary instead of as content. */
  asSummary: boolean;
  /** Encrypts the reasoning of finished items; null leaves it out. */
  sealReasoning: ((text: string) => string) | null;
  /** The tools of the request by their names in the chat. Absent: all are functions of the same name. */
  tools?: Pick<ToolNames, 'of'>;
  /** Lists the sources in the items of searches. Default: false. */
  withWebSources?: boolean;
}

/** The item that is being generated, with its text so far. */
type OpenItem =
  | { item: ResponsesMessage; text: string[]; logprobs: ResponsesLogprob[] }
  | { item: ResponsesReasoningOutput; text: string[] }
  | { item: ResponsesFunctionCall; text: string[] }
  | { item: ResponsesCustomToolCall; text: string[]; reader: CustomInputReader };

/**
 * Builds the output items of a response from the events of its chat, and the stream events of each step: what is
 * collected and what is streamed cannot differ.
 */
export class OutputBuilder {
  readonly output: ResponsesOutputItem[] = [];
  private open: OpenItem | null = null;
  /** Whether the output ended at the token limit. */
  isCut = false;
  /** Web sources, by the numbers of citations in texts. */
  sources: readonly { title: string; url: string }[] = [];

  constructor(private readonly options: OutputOptions) {}

  /** Adds lookups that begin; they come before everything else. */
  beginWebCalls(targets: readonly WebCall['target'][]): ResponsesStreamEvent[] {
    return targets.flatMap((target) => {
      const call = presentWebCall({ target, isFailed: false }, this.newId('ws'), null);
      const item = { ...call, status: 'in_progress' as const };
      this.output.push(item);
      const step = (name: string) => this.event(`response.web_search_call.${name}`, { item_id: item.id });
      return [this.event('response.output_item.added', { item }), step('in_progress'), step('searching')];
    });
  }

  /** Ends the lookups, in the order in which they began. */
  endWebCalls(calls: readonly WebCall[], sources: readonly { url: string }[]): ResponsesStreamEvent[] {
    return calls.flatMap((call, index) => {
      const id = this.output[index]?.id ?? '';
      const item = presentWebCall(call, id, this.options.withWebSources === true ? sources : null);
      this.output[index] = item;
      const place = { output_index: index };
      const completed = this.event('response.web_search_call.completed', { item_id: id, ...place });
      const done = this.event('response.output_item.done', { item, ...place });
      return call.isFailed ? [done] : [completed, done];
    });
  }

  /** Takes in an event; returns the stream events that follow from it. */
  add(event: ChatEvent): ResponsesStreamEvent[] {
    switch (event.type) {
      case 'text-delta':
        return event.channel === 'reasoning' ? this.addReasoning(event.text) : this.addText(event);
      case 'tool-call':
        return this.openCall(event);
      case 'tool-call-delta':
        return this.addArguments(event.text);
      case 'choice-finished':
        return this.finish(event.finishReason === 'length');
      default:
        return [];
    }
  }

  /** Marks what is incomplete after a failure. */
  interrupt(): void {
    if (this.open !== null) this.settle(this.open, 'incomplete');
    for (const item of this.output) {
      if (item.type === 'web_search_call' && item.status === 'in_progress') item.status = 'failed';
    }
    this.open = null;
  }

  private finish(isCut: boolean): ResponsesStreamEvent[] {
    this.isCut = isCut;
    // A response without any text still has a message.
    const isEmpty = this.output.every(({ type }) => type === 'web_search_call');
    const opening = isEmpty ? this.openMessage() : [];
    return [...opening, ...this.close(isCut ? 'incomplete' : 'completed')];
  }

  private addText({ text, logprobs }: TextDeltaEvent): ResponsesStreamEvent[] {
    const scored = this.scoresOf(logprobs);
    if (text === '' && scored.length === 0) return [];
    const opening = this.open?.item.type === 'message' ? [] : this.openMessage();
    const { open } = this;
    if (open === null || !('logprobs' in open)) return opening;
    open.text.push(text);
    open.logprobs.push(...scored);
    return [
      ...opening,
      this.itemEvent('response.output_text.delta', { content_index: 0, delta: text, logprobs: scored }),
    ];
  }

  private addReasoning(text: string): ResponsesStreamEvent[] {
    if (text === '') return [];
    const opening = this.open?.item.type === 'reasoning' ? [] : this.openReasoning();
    this.open?.text.push(text);
    const delta = this.options.asSummary
      ? this.itemEvent('response.reasoning_summary_text.delta', { summary_index: 0, delta: text })
      : this.itemEvent('response.reasoning_text.delta', { content_index: 0, delta: text });
    return [...opening, delta];
  }

  private addArguments(text: string): ResponsesStreamEvent[] {
    const { open } = this;
    if (text === '' || open === null) return [];
    if ('reader' in open) {
      const delta = open.reader.push(text);
      open.text.push(delta);
      return delta === '' ? [] : [this.itemEvent('response.custom_tool_call_input.delta', { delta })];
    }
    if (open.item.type !== 'function_call') return [];
    open.text.push(text);
    return [this.itemEvent('response.function_call_arguments.delta', { delta: text })];
  }

  private openMessage(): ResponsesStreamEvent[] {
    const item: ResponsesMessage = {
      type: 'message',
      id: this.newId('msg'),
      status: 'in_progress',
      role: 'assistant',
      content: [],
    };
    const added = this.begin({ item, text: [], logprobs: [] });
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    return [...added, this.itemEvent('response.content_part.added', { content_index: 0, part })];
  }

  private openReasoning(): ResponsesStreamEvent[] {
    const { asSummary } = this.options;
    const item: ResponsesReasoningOutput = {
      type: 'reasoning',
      id: this.newId('rs'),
      status: 'in_progress',
      summary: [],
      ...(asSummary ? {} : { content: [] }),
    };
    const added = this.begin({ item, text: [] });
    const part = asSummary
      ? this.itemEvent('response.reasoning_summary_part.added', {
          summary_index: 0,
          part: { type: 'summary_text', text: '' },
        })
      : this.itemEvent('response.content_part.added', { content_index: 0, part: { type: 'reasoning_text', text: '' } });
    return [...added, part];
  }

  private openCall({ id, name: chatName }: ToolCallEvent): ResponsesStreamEvent[] {
    const { name, namespace, isCustom } = this.options.tools?.of(chatName) ?? { name: chatName, isCustom: false };
    const called = { call_id: id, name, ...(namespace !== undefined && { namespace }) };
    const status = 'in_progress' as const;
    if (isCustom) {
      const item = { type: 'custom_tool_call' as const, id: this.newId('ctc'), ...called, input: '', status };
      return this.begin({ item, text: [], reader: new CustomInputReader() });
    }
    const item = { type: 'function_call' as const, id: this.newId('fc'), ...called, arguments: '', status };
    return this.begin({ item, text: [] });
  }

  /** Closes the item before and adds one. */
  private begin(opening: OpenItem): ResponsesStreamEvent[] {
    const closing = this.close('completed');
    this.open = opening;
    this.output.push(opening.item);
    return [...closing, this.event('response.output_item.added', { item: structuredClone(opening.item) })];
  }

  private close(status: ResponsesItemStatus): ResponsesStreamEvent[] {
    const { open } = this;
    if (open === null) return [];
    this.settle(open, status);
    const done = this.event('response.output_item.done', { item: open.item });
    const events = [...this.contentDone(open.item), done];
    this.open = null;
    return events;
  }

  /** Writes the text of an item into it. */
  private settle(open: OpenItem, status: ResponsesItemStatus): void {
    const { item } = open;
    const text = open.text.join('');
    item.status = status;
    if (item.type === 'function_call') item.arguments = text;
    else if (item.type === 'custom_tool_call') item.input = text;
    else if (item.type === 'reasoning') this.settleReasoning(item, text);
    else {
      const logprobs = 'logprobs' in open ? open.logprobs : [];
      const annotations = urlCitations(text, this.sources);
      item.content = [{ type: 'output_text', text, annotations, logprobs }];
    }
  }

  private settleReasoning(item: ResponsesReasoningOutput, text: string): void {
    const { asSummary, sealReasoning } = this.options;
    if (asSummary) item.summary = [{ type: 'summary_text', text }];
    else item.content = [{ type: 'reasoning_text', text }];
    if (sealReasoning !== null) item.encrypted_content = sealReasoning(text);
  }

  private contentDone(item: OpenItem['item']): ResponsesStreamEvent[] {
    if (item.type === 'function_call') {
      const { name, arguments: text } = item;
      return [this.itemEvent('response.function_call_arguments.done', { name, arguments: text })];
    }
    if (item.type === 'custom_tool_call') {
      return [this.itemEvent('response.custom_tool_call_input.done', { input: item.input })];
    }
    if (item.type === 'reasoning' && this.options.asSummary) {
      const [part] = item.summary;
      return [
        this.itemEvent('response.reasoning_summary_text.done', { summary_index: 0, text: part?.text }),
        this.itemEvent('response.reasoning_summary_part.done', { summary_index: 0, part }),
      ];
    }
    const part = item.content?.[0];
    const scores = part?.type === 'output_text' ? { logprobs: part.logprobs } : {};
    const name = item.type === 'reasoning' ? 'response.reasoning_text.done' : 'response.output_text.done';
    return [
      this.itemEvent(name, { content_index: 0, text: part?.text, ...scores }),
      this.itemEvent('response.content_part.done', { content_index: 0, part }),
    ];
  }

  private scoresOf(logprobs: TokenLogprob[] | null): ResponsesLogprob[] {
    return this.options.withLogprobs && logprobs !== null ? (presentLogprobs(logprobs) as ResponsesLogprob[]) : [];
  }

  private newId(prefix: string): string {
    return `${prefix}_${this.options.requestId}_${this.output.length}`;
  }

  private event(type: string, members: object): ResponsesStreamEvent {
    return { type, output_index: this.output.length - 1, ...members };
  }

  private itemEvent(type: string, members: object): ResponsesStreamEvent {
    return { type, item_id: this.open?.item.id, output_index: this.output.length - 1, ...members };
  }
}
