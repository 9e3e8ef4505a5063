import { PlatformError } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { ModelCapabilities, TextConstraints } from '#model-registry/manifest';
import { ruleNamesOf } from '#platform/http';
import { type ChatJobMessage, type ChatJobPayload, SamplingOptions } from '../contract/chat.job.js';
import type { ChatMessage } from '../contract/chat.message.js';
import { promptBytes } from '../contract/chat.meter.js';
import type { ChatCompletionRequest } from '../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../contract/chat.response.js';
import { effectiveParameters } from './chat.parameters.js';
import { type ChatModelLimits, checkSupport, effortOf, formatOf } from './chat.support.js';

/** What the normalizer must know of a resolved model. */
export interface ChatModel extends ChatModelLimits {
  contextLength: number;
  /** Prepended unless the caller switches it off. */
  systemPrompt: string | null;
  /** Sampling of callers who say nothing of their own; what `GET /models` tells of the model. */
  constraints: TextConstraints | null;
  /** Pairs of the model suffix, `name=value`. */
  suffix: Record<string, string>;
}

const defaultMaxChoices = 4;
/** Models whose manifest names no context are held to this many tokens. */
const defaultContextLength = 2048;

export function chatModel({ manifest, suffix }: ResolvedModel): ChatModel {
  const contextLength = manifest.contextLength ?? defaultContextLength;
  return {
    id: manifest.id,
    capabilities: manifest.capabilities,
    maxChoices: manifest.maxChoices ?? defaultMaxChoices,
    maxCompletionTokens: manifest.maxCompletionTokens ?? contextLength,
    contextLength,
    systemPrompt: manifest.systemPrompt ?? null,
    constraints: (manifest.constraints as TextConstraints | undefined) ?? null,
    suffix,
  };
}

export interface NormalizedChat {
  payload: ChatJobPayload;
  parameters: ChatEffectiveParameters;
  /** Whether the caller has named a bound of the output; else the model's holds. */
  boundsOutput: boolean;
}

/**
 * No vocabulary has longer tokens. A prompt beyond the context by this measure is refused here, before megabytes
 * of it travel; the worker counts the exact tokens of the others.
 */
const longestTokenBytes = 256;

/** The error of a prompt that does not fit; the filter gives it OpenAI's wording of the code. */
export function contextOverflow(contextLength: number): PlatformError {
  const message = `This model's maximum context length is ${contextLength} tokens. Your messages are longer; please shorten them.`;
  return new PlatformError('TOO_MANY_TOKENS', message, 'messages');
}

function textOf(content: ChatMessage['content'] | null): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

function toJobMessage(message: ChatMessage): ChatJobMessage {
  const reasoning = message.role === 'assistant' || message.role === 'tool' ? message.reasoning_content : null;
  return {
    // Ordinary models know no developer; OpenAI and others read it as system too.
    role: message.role === 'developer' ? 'system' : message.role,
    content: textOf(message.content ?? null),
    ...(typeof message.name === 'string' ? { name: message.name } : {}),
    ...(typeof reasoning === 'string' ? { reasoningContent: reasoning } : {}),
  };
}

/**
 * Default prompt, the caller's system messages, conversation. Leading system messages become one, because most
 * chat templates know only one.
 */
function conversation(messages: ChatMessage[], systemPrompt: string | null): ChatJobMessage[] {
  const given = messages.map(toJobMessage);
  const first = given.findIndex(({ role }) => role !== 'system');
  const leading = first === -1 ? given.length : first;
  const system = given.slice(0, leading).map(({ content }) => content);
  if (systemPrompt !== null) system.unshift(systemPrompt);
  if (system.length === 0) return given;
  return [{ role: 'system', content: system.join('\n\n') }, ...given.slice(leading)];
}

/** Fields of the wire whose names are not those of the payload in snake case. */
const otherNames: Partial<Record<string, keyof ChatCompletionRequest>> = {
  minTemperature: 'min_temp',
  maxTemperature: 'max_temp',
};

/** Every sampling option of the payload and its field of the wire, where a default of the model has the same name. */
export const samplingFields = [...ruleNamesOf(SamplingOptions).keys()].map((option) => {
  const snakeCase = option.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { option, field: otherNames[option] ?? (snakeCase as keyof ChatCompletionRequest) };
});

function samplingOf(request: ChatCompletionRequest, { constraints }: ChatModel): SamplingOptions {
  const defaults = (constraints ?? {}) as Partial<Record<string, { default: number }>>;
  const options = samplingFields.map(({ option, field }) => [option, request[field] ?? defaults[field]?.default]);
  // Zero is a value, null is none.
  return Object.fromEntries(options.filter(([, value]) => typeof value === 'number'));
}

/**
 * `max_completion_tokens` beats `max_tokens`, of which zero or less is ignored. Without either the model's own limit
 * holds: it is what the request is quoted at.
 */
function outputLimit(request: ChatCompletionRequest, { maxCompletionTokens }: ChatModel): number {
  return namedOutputLimit(request) ?? maxCompletionTokens;
}

/** Null where the caller leaves it to us. */
function namedOutputLimit(request: ChatCompletionRequest): number | null {
  if (typeof request.max_completion_tokens === 'number') return request.max_completion_tokens;
  const older = request.max_tokens ?? 0;
  return older > 0 ? older : null;
}

function stopStrings(stop: ChatCompletionRequest['stop']): string[] {
  const strings = typeof stop === 'string' ? [stop] : (stop ?? []);
  // An empty string is found everywhere; it stops nothing elsewhere either.
  return strings.filter((text) => text !== '');
}

/** How much a request is thought about. An absent member leaves the choice to the model's template. */
function thinkingOf(
  request: ChatCompletionRequest,
  parameters: ChatEffectiveParameters,
  { supportsReasoningEffort, defaultReasoningEffort }: ModelCapabilities,
): Pick<ChatJobPayload, 'enableThinking' | 'reasoningEffort'> {
  const enabled = request.reasoning?.enabled ?? null;
  if (parameters.disable_thinking || enabled === false) return { enableThinking: false };
  // Who switches reasoning on is not switched off by the model's own effort.
  const isOverruled = enabled === true && defaultReasoningEffort === 'none';
  const own = supportsReasoningEffort && !isOverruled ? defaultReasoningEffort : undefined;
  const effort = effortOf(request) ?? own;
  const enableThinking = effort === 'none' ? false : (enabled ?? undefined);
  return {
    ...(enableThinking === undefined ? {} : { enableThinking }),
    ...(effort === undefined || !supportsReasoningEffort ? {} : { reasoningEffort: effort }),
  };
}

/**
 * The wire request as the one canonical payload. Throws `INVALID_REQUEST` for what the model cannot do and
 * `TOO_MANY_TOKENS` for a prompt that cannot fit.
 */
export function normalizeChat(request: ChatCompletionRequest, model: ChatModel): NormalizedChat {
  const parameters = effectiveParameters(model.suffix, request.service_parameters);
  checkSupport(request, parameters, model);
  const systemPrompt = parameters.include_service_system_prompt ? model.systemPrompt : null;
  const messages = conversation(request.messages, systemPrompt);
  if (promptBytes({ messages }) > model.contextLength * longestTokenBytes) throw contextOverflow(model.contextLength);
  const format = formatOf(request);
  const payload: ChatJobPayload = {
    messages,
    sampling: samplingOf(request, model),
    n: request.n ?? 1,
    maxTokens: outputLimit(request, model),
    stop: stopStrings(request.stop),
    stopTokenIds: request.stop_token_ids ?? [],
    topLogprobs: request.logprobs === true ? (request.top_logprobs ?? 0) : null,
    ...thinkingOf(request, parameters, model.capabilities),
    stripThinking: parameters.strip_thinking_response || parameters.disable_thinking,
    ...(typeof request.prompt_cache_key === 'string' ? { promptCacheKey: request.prompt_cache_key } : {}),
    ...(format === undefined ? {} : { format }),
  };
  return { payload, parameters, boundsOutput: namedOutputLimit(request) !== null };
}
