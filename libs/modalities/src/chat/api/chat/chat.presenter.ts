import type { JobQuote } from '#billing';
import { type JobUsage, type NanoUsd, PlatformError, type TokenUsage } from '#common';
import type { EventPresenter } from '#gateway';
import type { Pricing } from '#model-registry/manifest';
import { isSealedField } from '#tee/sealing';
import type {
  ChatEvent,
  TextDeltaEvent,
  TokenLogprob,
  ToolCallDeltaEvent,
  ToolCallEvent,
} from '../../contract/chat.events.js';
import { chatCost } from '../../contract/chat.meter.js';
import type {
  ChatChoiceLogprobs,
  ChatCompletionResponse,
  ChatCost,
  ChatEffectiveParameters,
  ChatReasoningText,
  ChatTokenLogprob,
  ChatToolCall,
  ChatUsage,
} from '../../contract/chat.response.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';
import { CustomInputReader } from '../job/custom-input.js';
import { FinishedTextCheck } from './finished-text-check.js';
import { documentsCall, streamedParameters } from '../web/web-presenter.js';

/** The members that every chunk of a completion repeats. */
export interface ChatCompletionHead {
  /** Request id; part of the completion's id. */
  requestId: string;
  /** Unix seconds. */
  created: number;
  modelId: string;
  n: number;
  withLogprobs: boolean;
  pricing: Pricing | null;
  /** DIEM that the request reserves. */
  heldDiemNano: NanoUsd;
  parameters: ChatEffectiveParameters;
  /** What of the request the response leaves out. */
  warnings: ChatWarning[];
  /** Follows the events of one response; absent: no text follows a schema. */
  newTextCheck?: () => FinishedTextCheck;
  /** Names of the tools whose calls have an input instead of arguments. Absent: none. */
  customTools?: ReadonlySet<string>;
  /** The client expects sealed texts. Absent: texts in clear. */
  isSealed?: boolean;
}

/** Builds the repeated members of a completion from the admitted job. */
export function chatHead(
  requestId: string,
  chat: NormalizedChat,
  { price, heldDiemNano }: JobQuote,
): ChatCompletionHead {
  return {
    requestId,
    created: Math.floor(Date.now() / 1000),
    modelId: price.modelId,
    n: chat.payload.n,
    withLogprobs: chat.payload.topLogprobs !== null,
    pricing: price.pricing,
    heldDiemNano,
    parameters: chat.parameters,
    warnings: chat.warnings,
    newTextCheck: () => new FinishedTextCheck(chat.payload),
    customTools: chat.customTools,
    isSealed: chat.payload.sealing !== undefined,
  };
}

/** Absent without any. */
function presentWarnings(warnings: readonly ChatWarning[]): { warnings?: ChatWarning[] } {
  return warnings.length === 0 ? {} : { warnings: [...warnings] };
}

export function chatId(requestId: string): string {
  return `chatcmpl-${requestId}`;
}

export function presentLogprobs(tokens: TokenLogprob[]): ChatTokenLogprob[] {
  return tokens.map(({ token, logprob, bytes, topLogprobs }) => ({ token, logprob, bytes, top_logprobs: topLogprobs }));
}

function scoresOf(tokens: TokenLogprob[]): ChatChoiceLogprobs {
  return { content: presentLogprobs(tokens), refusal: null };
}

export function presentUsage(usage: TokenUsage): ChatUsage {
  const { promptTokens, cachedTokens, cacheWriteTokens = 0, completionTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens, cache_creation_input_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

/** The reasoning under each name that clients read, and echo with the message. Details of one index are pieces. */
function presentReasoning(text: string | null) {
  const named = { reasoning_content: text, reasoning: text };
  if (text === null || text === '') return named;
  const details: ChatReasoningText[] = [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }];
  return { ...named, reasoning_details: details };
}

interface CollectedChoice {
  content: string[];
  reasoning: string[];
  toolCalls: CollectedCall[];
  logprobs: ChatTokenLogprob[];
  finishReason: 'stop' | 'length' | 'tool_calls';
}

interface CollectedCall {
  id: string;
  name: string;
  /** Pieces of the arguments, or of the input of a custom tool. */
  texts: string[];
  /** Of a call of a custom tool: reads its input from its arguments. */
  custom: CustomInputReader | null;
}

function customReader({ customTools }: ChatCompletionHead, { name }: ToolCallEvent): CustomInputReader | null {
  return customTools?.has(name) === true ? new CustomInputReader() : null;
}

function addToCall(call: CollectedCall | undefined, text: string): void {
  call?.texts.push(call.custom === null ? text : call.custom.push(text));
}

function presentCall({ id, name, texts, custom }: CollectedCall): ChatToolCall {
  const text = texts.join('');
  if (custom !== null) return { id, type: 'custom', custom: { name, input: text } };
  return { id, type: 'function', function: { name, arguments: text } };
}

/** The contract has no further reason for the one that is reported. */
function stopReason(finishReason: 'stop' | 'length' | 'tool_calls'): 'stop' | 'length' | null {
  return finishReason === 'tool_calls' ? null : finishReason;
}

/** Collects the events of one request for a client that does not stream. */
export class ChatCompletionCollector {
  private readonly choices: CollectedChoice[];
  private readonly check: FinishedTextCheck | undefined;

  constructor(private readonly head: ChatCompletionHead) {
    this.check = head.newTextCheck?.();
    this.choices = Array.from({ length: head.n }, () => ({
      content: [],
      reasoning: [],
      toolCalls: [],
      logprobs: [],
      finishReason: 'stop',
    }));
  }

  add(event: ChatEvent): void {
    // Only prompts without a conversation are scored.
    if (event.type === 'prompt-scores') return;
    this.check?.add(event);
    if (event.type === 'prompt-ready') return;
    const choice = this.choices[event.index];
    if (choice === undefined) return;
    if (event.type === 'choice-finished') {
      choice.finishReason = event.finishReason;
      return;
    }
    if (event.type === 'tool-call') {
      const { id, name, call } = event;
      choice.toolCalls[call] = { id, name, texts: [], custom: customReader(this.head, event) };
      return;
    }
    if (event.type === 'text-delta') choice[event.channel].push(event.text);
    else addToCall(choice.toolCalls[event.call], event.text);
    if (event.logprobs !== null && this.head.withLogprobs) choice.logprobs.push(...presentLogprobs(event.logprobs));
  }

  completion(usage: JobUsage): ChatCompletionResponse {
    const { requestId, created, modelId, withLogprobs, pricing, heldDiemNano, parameters } = this.head;
    const documents = documentsCall(requestId, parameters);
    return {
      id: chatId(requestId),
      object: 'chat.completion',
      created,
      model: modelId,
      choices: this.choices.map(({ content, reasoning, toolCalls, logprobs, finishReason }, index) => ({
        index,
        message: {
          role: 'assistant',
          // Null beside calls, as clients expect it.
          content: content.join('') || (toolCalls.length > 0 ? null : ''),
          ...presentReasoning(reasoning.length === 0 ? null : reasoning.join('')),
          ...presentCalls([...(documents === null ? [] : [documents]), ...toolCalls.map(presentCall)]),
        },
        logprobs: withLogprobs ? { content: logprobs, refusal: null } : null,
        finish_reason: finishReason,
        stop_reason: stopReason(finishReason),
      })),
      usage: presentUsage(usage),
      cost: chatCost(usage, pricing, heldDiemNano),
      prompt_logprobs: null,
      service_parameters: parameters,
      ...presentWarnings([...this.head.warnings, ...(this.check?.warnings ?? [])]),
    };
  }
}

/** The JSON of an object with further members. */
function withMember(json: string, members: object): string {
  const added = JSON.stringify(members);
  return added === '{}' ? json : `${json.slice(0, -1)},${added.slice(1)}`;
}

/** Clients take a list as a turn of calls, and an empty one for a fault. */
function presentCalls(calls: ChatToolCall[]): { tool_calls?: ChatToolCall[] } {
  return calls.length === 0 ? {} : { tool_calls: calls };
}

/**
 * Converts the events of one request to the JSON of its chunks; each choice starts with its role. Constant parts are
 * encoded once, since every token makes a chunk.
 */
export class ChatChunkPresenter implements EventPresenter<ChatEvent> {
  private readonly opening: string;
  private readonly closing: string;
  private readonly opened = new Set<number>();
  private readonly documents: ChatToolCall | null;
  private readonly check: FinishedTextCheck | undefined;
  private warningsSent = 0;
  /** Readers of the inputs of custom tools, by choice and call. */
  private readonly customInputs = new Map<string, CustomInputReader>();
  private textSent = false;

  constructor(
    private readonly head: ChatCompletionHead,
    private readonly includeUsage: boolean,
  ) {
    const { requestId, created, modelId } = head;
    const constant = { id: chatId(requestId), object: 'chat.completion.chunk', created, model: modelId };
    this.opening = `${JSON.stringify(constant).slice(0, -1)},"choices":[`;
    this.closing = includeUsage ? '],"usage":null}' : ']}';
    this.documents = documentsCall(requestId, head.parameters);
    this.check = head.newTextCheck?.();
  }

  /** Throws `INFERENCE_FAILED` if another worker took the job over after part of the completion was sent. */
  present(event: ChatEvent): string[] {
    if (event.type === 'prompt-ready' && this.textSent) {
      throw new PlatformError('INFERENCE_FAILED', 'The response was interrupted.');
    }
    this.textSent ||= event.type === 'text-delta' || event.type === 'tool-call';
    return this.chunks(event);
  }

  finish(usage: JobUsage): string[] {
    return this.includeUsage ? [this.usage(usage)] : [];
  }

  /** The role chunks of all choices without one. */
  roles(): string[] {
    return Array.from({ length: this.head.n }, (_, index) => this.role(index)).flat();
  }

  chunks(event: ChatEvent): string[] {
    if (event.type === 'prompt-scores') return [];
    this.check?.add(event);
    if (event.type === 'prompt-ready') return this.roles();
    if (event.type === 'choice-finished') {
      const last = this.choice(event.index, '{}', 'null', event.finishReason);
      return [...this.role(event.index), this.withNewWarnings(last)];
    }
    const role = this.role(event.index);
    if (event.type !== 'text-delta' && this.head.isSealed === true) {
      throw new PlatformError('INFERENCE_FAILED', 'The response was not encrypted.');
    }
    if (event.type === 'tool-call') return [...role, this.call(event)];
    return [...role, ...(event.type === 'text-delta' ? this.delta(event) : this.callDelta(event))];
  }

  /** The extra chunk of `include_usage`. */
  usage(usage: JobUsage): string {
    const members: { usage: ChatUsage; cost: ChatCost } = {
      usage: presentUsage(usage),
      cost: chatCost(usage, this.head.pricing, this.head.heldDiemNano),
    };
    return `${this.opening}],${JSON.stringify(members).slice(1)}`;
  }

  private role(index: number): string[] {
    if (this.opened.has(index)) return [];
    // Clients take any content that is not sealed for text in clear.
    const opened = this.head.isSealed === true ? '{"role":"assistant"}' : '{"role":"assistant","content":""}';
    const role = this.choice(index, opened, 'null', null);
    const first = this.opened.size === 0 ? this.withFirstWarnings(this.withParameters(role)) : role;
    this.opened.add(index);
    if (this.documents === null) return [first];
    const call = { tool_calls: [{ index: 0, ...this.documents }] };
    return [first, this.choice(index, JSON.stringify(call), 'null', null)];
  }

  /** Search results come with the first chunk. */
  private withParameters(chunk: string): string {
    const parameters = streamedParameters(this.head.parameters);
    return parameters === null ? chunk : `${chunk.slice(0, -1)},"service_parameters":${JSON.stringify(parameters)}}`;
  }

  private withFirstWarnings(chunk: string): string {
    const found = this.check?.warnings ?? [];
    this.warningsSent = found.length;
    return withMember(chunk, presentWarnings([...this.head.warnings, ...found]));
  }

  /** Violations that the text of this choice shows come with its last chunk. */
  private withNewWarnings(chunk: string): string {
    const found = this.check?.warnings ?? [];
    const added = found.slice(this.warningsSent);
    this.warningsSent = found.length;
    return withMember(chunk, presentWarnings(added));
  }

  /** Calls of the model come after that of the service. */
  private numberOf(call: number): number {
    return this.documents === null ? call : call + 1;
  }

  private delta({ index, channel, text, logprobs }: TextDeltaEvent): string[] {
    const scored = this.head.withLogprobs && logprobs !== null && logprobs.length > 0;
    if (text === '' && !scored) return [];
    if (this.head.isSealed === true) return [this.sealedDelta({ index, channel, text })];
    const delta = channel === 'content' ? { content: text } : presentReasoning(text);
    return [this.choice(index, JSON.stringify(delta), JSON.stringify(scored ? scoresOf(logprobs) : null), null)];
  }

  /** Throws `INFERENCE_FAILED` instead of sending a text in clear: no worker sends one. */
  private sealedDelta({ index, channel, text }: Pick<TextDeltaEvent, 'index' | 'channel' | 'text'>): string {
    if (!isSealedField(text)) throw new PlatformError('INFERENCE_FAILED', 'The response was not encrypted.');
    const delta = channel === 'content' ? { content: text } : { reasoning_content: text };
    return this.choice(index, JSON.stringify(delta), 'null', null);
  }

  private call(event: ToolCallEvent): string {
    const { index, call, id, name } = event;
    const reader = customReader(this.head, event);
    if (reader !== null) this.customInputs.set(`${index} ${call}`, reader);
    const begun = { index: this.numberOf(call), ...presentCall({ id, name, texts: [], custom: reader }) };
    return this.choice(index, JSON.stringify({ tool_calls: [begun] }), 'null', null);
  }

  private callDelta({ index, call, text: fragment, logprobs }: ToolCallDeltaEvent): string[] {
    const scored = this.head.withLogprobs && logprobs !== null && logprobs.length > 0;
    const reader = this.customInputs.get(`${index} ${call}`);
    const text = reader === undefined ? fragment : reader.push(fragment);
    if (text === '' && !scored) return [];
    const called = reader === undefined ? { function: { arguments: text } } : { custom: { input: text } };
    const delta = { tool_calls: [{ index: this.numberOf(call), ...called }] };
    return [this.choice(index, JSON.stringify(delta), JSON.stringify(scored ? scoresOf(logprobs) : null), null)];
  }

  private choice(
    index: number,
    delta: string,
    logprobs: string,
    finishReason: 'stop' | 'length' | 'tool_calls' | null,
  ): string {
    const finish = JSON.stringify(finishReason);
    const stop = finishReason === null ? '' : `,"stop_reason":${JSON.stringify(stopReason(finishReason))}`;
    return `${this.opening}{"index":${index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}${stop}}${this.closing}`;
  }
}
