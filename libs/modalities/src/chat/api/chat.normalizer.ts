import { PlatformError } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { ModelManifest, TextConstraints } from '#model-registry/manifest';
import { ruleNamesOf } from '#platform/validation';
import { type ChatJobMessage, type ChatJobPayload, SamplingOptions } from '../contract/chat.job.js';
import type { ChatMessage } from '../contract/chat.message.js';
import { promptBytes } from '../contract/chat.meter.js';
import type { ChatCompletionRequest } from '../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../contract/chat.response.js';
import { contentOf } from './chat.content.js';
import { effectiveParameters } from './chat.parameters.js';
import { echoedReasoning, thinkingOf } from './chat.reasoning.js';
import { type ChatModelLimits, checkSupport, formatOf } from './chat.support.js';
import { toolMessages } from './chat.tool-messages.js';
import { toolsOf } from './chat.tools.js';

/** What the normalizer needs from a resolved model. */
export interface ChatModel extends ChatModelLimits {
  contextLength: number;
  /** Maximum number of tokens of an image; absent: unknown. */
  imageTokens?: number;
  /** Prepended unless the client disables it. */
  systemPrompt: string | null;
  /** Default sampling options, which `GET /models` also lists. */
  constraints: TextConstraints | null;
  /** Pairs of the model suffix, `name=value`. */
  suffix: Record<string, string>;
  /** Tokens of reasoning by effort; an effort that is not listed has no bound. Absent: the defaults. */
  thinkingBudgets?: Partial<Record<string, number>>;
}

const defaultMaxChoices = 4;
/** Context length of models whose manifest names none, in tokens. */
const defaultContextLength = 2048;

export function chatModel({ manifest, suffix }: ResolvedModel): ChatModel {
  const contextLength = manifest.contextLength ?? defaultContextLength;
  return {
    id: manifest.id,
    family: manifest.family,
    capabilities: manifest.capabilities,
    maxChoices: manifest.maxChoices ?? defaultMaxChoices,
    maxCompletionTokens: manifest.maxCompletionTokens ?? contextLength,
    contextLength,
    inputAdapters: manifest.inputAdapters ?? {},
    systemPrompt: manifest.systemPrompt ?? null,
    ...imageTokensOf(manifest),
    constraints: (manifest.constraints as TextConstraints | undefined) ?? null,
    suffix,
    thinkingBudgets: manifest.reasoning?.budgets,
  };
}

function imageTokensOf({ familyOptions }: ModelManifest): Pick<ChatModel, 'imageTokens'> {
  const imageTokens = familyOptions?.imageTokens;
  return typeof imageTokens === 'number' ? { imageTokens } : {};
}

export interface NormalizedChat {
  payload: ChatJobPayload;
  parameters: ChatEffectiveParameters;
  /** Whether the client set an output bound; otherwise the model's applies. */
  boundsOutput: boolean;
}

/**
 * No vocabulary has longer tokens. A prompt beyond the context by this measure is rejected before megabytes travel to a
 * worker, which counts the exact tokens of the others.
 */
const longestTokenBytes = 256;

/** Bytes that no prompt of this many tokens exceeds. */
export function maxPromptBytes(contextLength: number): number {
  return contextLength * longestTokenBytes;
}

/** The error for a prompt that does not fit; the error filter adds OpenAI's code. */
export function contextOverflow(contextLength: number): PlatformError {
  const message = `This model's maximum context length is ${contextLength} tokens. Your messages are longer; please shorten them.`;
  return new PlatformError('TOO_MANY_TOKENS', message, 'messages');
}

function toJobMessage(message: ChatMessage): ChatJobMessage {
  const reasoning = echoedReasoning(message);
  return {
    // Most models know no developer role; OpenAI treats it as system too.
    role: message.role === 'developer' ? 'system' : message.role,
    ...contentOf(message.content ?? null),
    ...(typeof message.name === 'string' ? { name: message.name } : {}),
    ...(reasoning === undefined ? {} : { reasoningContent: reasoning }),
  };
}

/**
 * Default prompt, system messages, conversation. Leading system messages are merged, because most chat templates
 * support only one.
 */
function conversation(messages: ChatMessage[], systemPrompt: string | null): ChatJobMessage[] {
  const ofTools = toolMessages(messages);
  const given = messages.map((message, position) => ({ ...toJobMessage(message), ...ofTools[position] }));
  const first = given.findIndex(({ role }) => role !== 'system');
  const leading = first === -1 ? given.length : first;
  const system = given.slice(0, leading).map(({ content }) => content);
  if (systemPrompt !== null) system.unshift(systemPrompt);
  if (system.length === 0) return given;
  return [{ role: 'system', content: system.join('\n\n') }, ...given.slice(leading)];
}

/** Fields whose names are not the payload's in snake case. */
const otherNames: Partial<Record<string, keyof ChatCompletionRequest>> = {
  minTemperature: 'min_temp',
  maxTemperature: 'max_temp',
};

/** Every sampling option of the payload and its request field; the model's default has the same name. */
export const samplingFields = [...ruleNamesOf(SamplingOptions).keys()].map((option) => {
  const snakeCase = option.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { option, field: otherNames[option] ?? (snakeCase as keyof ChatCompletionRequest) };
});

function samplingOf(request: ChatCompletionRequest, { constraints }: ChatModel): SamplingOptions {
  const defaults = (constraints ?? {}) as Partial<Record<string, { default: number }>>;
  const options = samplingFields.map(({ option, field }) => [option, request[field] ?? defaults[field]?.default]);
  // Zero is a value, null is not.
  return Object.fromEntries(options.filter(([, value]) => typeof value === 'number'));
}

/**
 * `max_completion_tokens` takes precedence over `max_tokens`, of which zero or less is ignored. Without either the
 * model's limit applies, and the request is quoted at it.
 */
function outputLimit(request: ChatCompletionRequest, { maxCompletionTokens }: ChatModel): number {
  return namedOutputLimit(request) ?? maxCompletionTokens;
}

/** Null if the client sets no limit. */
function namedOutputLimit(request: ChatCompletionRequest): number | null {
  if (typeof request.max_completion_tokens === 'number') return request.max_completion_tokens;
  const older = request.max_tokens ?? 0;
  return older > 0 ? older : null;
}

function stopStrings(stop: ChatCompletionRequest['stop']): string[] {
  const strings = typeof stop === 'string' ? [stop] : (stop ?? []);
  // An empty string matches everywhere; other APIs ignore it too.
  return strings.filter((text) => text !== '');
}

/**
 * Converts the request to the job payload. Throws `INVALID_REQUEST` for what the model does not support and
 * `TOO_MANY_TOKENS` for a prompt that cannot fit.
 */
export function normalizeChat(request: ChatCompletionRequest, model: ChatModel): NormalizedChat {
  const parameters = effectiveParameters(model.suffix, request.service_parameters);
  checkSupport(request, parameters, model);
  const systemPrompt = parameters.include_service_system_prompt ? model.systemPrompt : null;
  const messages = conversation(request.messages, systemPrompt);
  const tools = toolsOf(request, model.id);
  if (promptBytes({ messages, tools: tools.tools }) > maxPromptBytes(model.contextLength))
    throw contextOverflow(model.contextLength);
  const format = formatOf(request);
  const payload: ChatJobPayload = {
    messages,
    sampling: samplingOf(request, model),
    n: request.n ?? 1,
    maxTokens: outputLimit(request, model),
    stop: stopStrings(request.stop),
    stopTokenIds: request.stop_token_ids ?? [],
    topLogprobs: request.logprobs === true ? (request.top_logprobs ?? 0) : null,
    ...thinkingOf(request, parameters, model),
    stripThinking: parameters.strip_thinking_response || parameters.disable_thinking,
    ...(typeof request.prompt_cache_key === 'string' ? { promptCacheKey: request.prompt_cache_key } : {}),
    ...(format === undefined ? {} : { format }),
    ...tools,
  };
  return { payload, parameters, boundsOutput: namedOutputLimit(request) !== null };
}
