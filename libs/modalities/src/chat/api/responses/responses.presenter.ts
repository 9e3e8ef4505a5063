import { PlatformError, type TokenUsage } from '#common';
import type { EventPresenter } from '#gateway';
import { openaiError } from '#gateway/errors';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { ResponsesResponse } from '../../contract/responses/responses.response.js';
import type { FinishedTextCheck } from '../chat/finished-text-check.js';
import type { WebCall, WebObserver } from '../job/web-source.js';
import type { FieldNames } from '../job/field-names.js';
import { typedFrame } from '../job/typed-frame.js';
import { OutputBuilder, type OutputOptions, type ResponsesStreamEvent } from './output-builder.js';
import { presentResource, type ResponsesHead } from './responses.resource.js';

/** What a response got from the web, and what follows its texts. */
interface ResponseSources {
  /** Follows the events; absent: no text follows a schema. */
  check?: FinishedTextCheck;
  /** Default: none. */
  calls?: readonly WebCall[];
  /** By the numbers of citations in texts. Default: none. */
  sources?: readonly { title: string; url: string }[];
}

/** Collects the events of one response for a client that does not stream. */
export class ResponsesCollector {
  private readonly builder: OutputBuilder;
  private readonly check: FinishedTextCheck | undefined;

  constructor(
    private readonly head: ResponsesHead,
    options: OutputOptions,
    { calls = [], sources = [], check }: ResponseSources = {},
  ) {
    this.builder = new OutputBuilder(options);
    this.builder.sources = sources;
    this.builder.beginWebCalls(calls.map(({ target }) => target));
    this.builder.endWebCalls(calls, sources);
    this.check = check;
  }

  add(event: ChatEvent): void {
    this.check?.add(event);
    this.builder.add(event);
  }

  response(usage: TokenUsage): ResponsesResponse {
    const { isCut, output } = this.builder;
    const head = withWarnings(this.head, this.check);
    return presentResource(head, { status: isCut ? 'incomplete' : 'completed', usage }, output);
  }
}

/** The members with what was left out of schemas, and what the finished texts violate. */
function withWarnings(head: ResponsesHead, check: FinishedTextCheck | undefined): ResponsesHead {
  const found = check?.warnings ?? [];
  return found.length === 0 ? head : { ...head, warnings: [...(head.warnings ?? []), ...found] };
}

/** Converts the events of one response to its stream events, numbered from 0. */
export class ResponsesStreamPresenter implements EventPresenter<ChatEvent> {
  private readonly builder: OutputBuilder;
  private sequence = 0;
  private isOpened = false;
  private outputSent = false;
  private check: FinishedTextCheck | undefined;
  /** The response, once it has ended without an error. */
  response: ResponsesResponse | null = null;

  constructor(
    private head: ResponsesHead,
    private readonly names: FieldNames,
    options: OutputOptions,
  ) {
    this.builder = new OutputBuilder(options);
  }

  /** Presents lookups as they are made, before the model begins. */
  webObserver(send: (chunks: string[]) => Promise<void>): WebObserver {
    const numbered = (events: ResponsesStreamEvent[]) => events.map((event) => this.number(event));
    return {
      begun: (targets) => send([...this.opening(), ...numbered(this.builder.beginWebCalls(targets))]),
      ended: ({ calls, sources }) => send(numbered(this.builder.endWebCalls(calls, sources))),
    };
  }

  /** Takes in what is known once the lookups are over. */
  begin(head: ResponsesHead, sources: readonly { title: string; url: string }[], check?: FinishedTextCheck): void {
    this.check = check;
    this.head = head;
    this.builder.sources = sources;
  }

  /** Throws `INFERENCE_FAILED` if another worker took the job over after part of the response was sent. */
  present(event: ChatEvent): string[] {
    if (event.type === 'prompt-ready' && this.outputSent) {
      throw new PlatformError('INFERENCE_FAILED', 'The response was interrupted.');
    }
    this.outputSent ||= event.type !== 'prompt-ready';
    this.check?.add(event);
    return [...this.opening(), ...this.builder.add(event).map((added) => this.number(added))];
  }

  finish(usage: TokenUsage): string[] {
    return this.close(this.complete(usage));
  }

  /** The response with everything that was generated. */
  complete(usage: TokenUsage): ResponsesResponse {
    const status = this.builder.isCut ? 'incomplete' : 'completed';
    return presentResource(withWarnings(this.head, this.check), { status, usage }, this.builder.output);
  }

  /** The last event, with the complete response. */
  close(response: ResponsesResponse): string[] {
    this.response = response;
    return [...this.opening(), this.number({ type: `response.${response.status}`, response })];
  }

  /** An `error` event, which clients throw, then the failed response. */
  fail(error: PlatformError): string[] {
    const { code, message, param, type } = openaiError(this.names.rename(error) as PlatformError);
    this.builder.interrupt();
    const failed = presentResource(this.head, { status: 'failed', error: { code, message } }, this.builder.output);
    return [
      ...this.opening(),
      this.number({ type: 'error', code, message, param, error: { type, code, message, param } }),
      this.number({ type: 'response.failed', response: failed }),
    ];
  }

  frame(json: string): string {
    return typedFrame(json);
  }

  private opening(): string[] {
    if (this.isOpened) return [];
    this.isOpened = true;
    const response = presentResource(withWarnings(this.head, this.check), { status: 'in_progress' }, []);
    return ['response.created', 'response.in_progress'].map((type) => this.number({ type, response }));
  }

  private number({ type, ...members }: ResponsesStreamEvent): string {
    return JSON.stringify({ type, sequence_number: this.sequence++, ...members });
  }
}

/** Presents a response that is stored before its last event, so that a client may continue it at once. */
export function storedPresenter(
  presenter: ResponsesStreamPresenter,
  store: (response: ResponsesResponse) => Promise<ResponsesResponse>,
): EventPresenter<ChatEvent> {
  return {
    present: (event) => presenter.present(event),
    finish: async (usage: TokenUsage) => presenter.close(await store(presenter.complete(usage))),
    fail: (error) => presenter.fail(error),
    frame: (json) => presenter.frame(json),
  };
}
