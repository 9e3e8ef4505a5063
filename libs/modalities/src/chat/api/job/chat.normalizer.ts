import { contextOverflow } from '#common';
import type { ResolvedModel } from '#model-registry';
import type { ModelManifest, TextConstraints } from '#model-registry/manifest';
import { ruleNamesOf } from '#platform/validation';
import {
  type ChatJobMessage,
  type ChatJobPayload,
  type ChatJobSealing,
  SamplingOptions,
} from '../../contract/chat.job.js';
import type { ChatMessage } from '../../contract/chat.message.js';
import { promptBytes } from '../../contract/chat.meter.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import { cacheSecondsOf } from './chat.caching.js';
import { contentOf } from './chat.content.js';
import { effectiveParameters } from './chat.parameters.js';
import { echoedReasoning, thinkingOf } from './chat.reasoning.js';
import { type ChatModelLimits, checkSupport, formatOf } from './chat.support.js';
import { checkSchemas } from './schema-checks.js';
import { toolMessages } from './chat.tool-messages.js';
import { customToolNames, toolsOf } from './chat.tools.js';
import { withServerTools } from './server-tools.js';

/** What the normalizer needs from a resolved model. */
export interface ChatModel extends ChatModelLimits {
  contextLength: number;
  /** Maximum number of tokens of an image and of a frame of a video; absent: unknown. */
  imageTokens?: number;
  frameTokens?: number;
  /** Prepended unless the client disables it. */
  systemPrompt: string | null;
  /** Prompt of the character that the request names; it follows the default one. Absent: none, or an unknown one. */
  characterPrompt?: string;
  /** Default sampling options, which `GET /models` also lists. */
  constraints: TextConstraints | null;
  /** Keys of an end-to-end encrypted request, which gets no prompt of the platform. Absent: it is in clear. */
  sealing?: ChatJobSealing;
  /** Pairs of the model suffix, `name=value`. */
  suffix: Record<string, string>;
  /** Tokens of reasoning by effort; an effort that is not listed has no bound. Absent: the defaults. */
  thinkingBudgets?: Partial<Record<string, number>>;
}

const defaultMaxChoices = 4;
/** Context length of models whose manifest names none, in tokens. */
const defaultContextLength = 2048;

/** Texts of the platform that begin a conversation. */
export interface PlatformPrompts {
  /** The default one; see `SystemPrompts`. */
  systemPrompt: string | null;
  /** Absent: no character. */
  characterPrompt?: string;
}

export function chatModel({ manifest, suffix }: ResolvedModel, prompts: PlatformPrompts): ChatModel {
  const contextLength = manifest.contextLength ?? defaultContextLength;
  return {
    id: manifest.id,
    family: manifest.family,
    capabilities: manifest.capabilities,
    maxChoices: manifest.maxChoices ?? defaultMaxChoices,
    maxCompletionTokens: manifest.maxCompletionTokens ?? contextLength,
    contextLength,
    inputAdapters: manifest.inputAdapters ?? {},
    ...prompts,
    ...imageTokensOf(manifest),
    constraints: (manifest.constraints as TextConstraints | undefined) ?? null,
    suffix,
    thinkingBudgets: manifest.reasoning?.budgets,
  };
}

function imageTokensOf({ familyOptions = {} }: ModelManifest): Pick<ChatModel, 'imageTokens' | 'frameTokens'> {
  const { imageTokens, frameTokens } = familyOptions;
  return {
    ...(typeof imageTokens === 'number' ? { imageTokens } : {}),
    ...(typeof frameTokens === 'number' ? { frameTokens } : {}),
  };
}

export interface NormalizedChat {
  payload: ChatJobPayload;
  parameters: ChatEffectiveParameters;
  /** Whether the client set an output bound; otherwise the model's applies. */
  boundsOutput: boolean;
  /** What of the request's schemas the texts do not follow. */
  warnings: ChatWarning[];
  /** Names of the tools whose calls have an input instead of arguments. */
  customTools: ReadonlySet<string>;
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

function checkLength(
  { messages = [], prompts = [], sealing, ...tools }: Partial<ChatJobPayload>,
  contextLength: number,
): void {
  const counted = `more than ${contextLength}`;
  if (promptBytes({ ...tools, messages, sealing }) > maxPromptBytes(contextLength))
    throw contextOverflow(contextLength, { counted });
  for (const { text = '', tokenIds = [], param } of prompts) {
    const isTooLong = Buffer.byteLength(text) > maxPromptBytes(contextLength) || tokenIds.length > contextLength;
    if (isTooLong) throw contextOverflow(contextLength, { counted, param });
  }
}

function roleOf({ role }: ChatMessage): ChatJobMessage['role'] {
  // Most models know no developer role; OpenAI treats it as system too.
  if (role === 'developer') return 'system';
  return role === 'function' ? 'tool' : role;
}

function toJobMessage(message: ChatMessage): ChatJobMessage {
  const reasoning = echoedReasoning(message);
  return {
    role: roleOf(message),
    ...contentOf(message.content ?? null),
    ...(typeof message.name === 'string' ? { name: message.name } : {}),
    ...(reasoning === undefined ? {} : { reasoningContent: reasoning }),
  };
}

/** The default prompt, unless the client leaves it out, and the character's. */
function platformPrompt(
  { systemPrompt, characterPrompt }: PlatformPrompts,
  { include_service_system_prompt: hasDefault }: ChatEffectiveParameters,
): string | null {
  const prompts = [hasDefault ? systemPrompt : null, characterPrompt ?? null].filter((text) => text !== null);
  return prompts.length === 0 ? null : prompts.join('\n\n');
}

/**
 * Prompt of the platform, system messages, conversation. Leading system messages are merged, because most chat templates
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
  const options = samplingFields.map(({ option, field }) => {
    const given = request[field] ?? defaults[field]?.default;
    // Clients send -1 for no bound, which is 0 here, and 0 for no seed.
    return [option, option === 'topK' && given === -1 ? 0 : given];
  });
  // Zero is a value, null is not.
  return Object.fromEntries(
    options.filter(([name, value]) => typeof value === 'number' && !(name === 'seed' && value === 0)),
  );
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

/** Texts that a request continues instead of a conversation. */
export type BarePrompts = Pick<ChatJobPayload, 'prompts' | 'echo'>;

/**
 * Converts the request to the job payload. Throws `INVALID_REQUEST` for what the model does not support and
 * `TOO_MANY_TOKENS` for a prompt that cannot fit. `checked` is the same request with other messages: its schemas, which may
 * be long, are examined once.
 */
export function normalizeChat(
  request: ChatCompletionRequest,
  model: ChatModel,
  bare: BarePrompts = {},
  checked?: Pick<NormalizedChat, 'warnings'>,
): NormalizedChat {
  const named = withServerTools(effectiveParameters(model.suffix, request.service_parameters), request);
  const { sealing } = model;
  const parameters = sealing === undefined ? named : { ...named, include_service_system_prompt: false };
  checkSupport(request, parameters, model);
  const systemPrompt = platformPrompt(model, parameters);
  const messages = bare.prompts === undefined ? conversation(request.messages, systemPrompt) : [];
  const tools = toolsOf(request);
  if (model.truncates !== true)
    checkLength({ ...tools, messages, prompts: bare.prompts, sealing }, model.contextLength);
  const format = formatOf(request);
  const payload: ChatJobPayload = {
    messages,
    ...bare,
    sampling: samplingOf(request, model),
    ...(Object.keys(request.logit_bias ?? {}).length === 0 ? {} : { logitBias: request.logit_bias }),
    n: request.n ?? 1,
    maxTokens: outputLimit(request, model),
    stop: stopStrings(request.stop),
    stopTokenIds: request.stop_token_ids ?? [],
    topLogprobs: request.logprobs === true ? (request.top_logprobs ?? 0) : null,
    ...thinkingOf(request, parameters, model),
    stripThinking: parameters.strip_thinking_response || parameters.disable_thinking,
    ...(typeof request.prompt_cache_key === 'string' ? { promptCacheKey: request.prompt_cache_key } : {}),
    ...cacheSecondsOf(request),
    ...(systemPrompt === null || bare.prompts !== undefined ? {} : { platformCharacters: systemPrompt.length }),
    ...(format === undefined ? {} : { format }),
    ...(model.truncates === true ? { truncates: true } : {}),
    ...(sealing === undefined ? {} : { sealing }),
    ...tools,
  };
  const warnings = checked?.warnings ?? checkSchemas(payload);
  const boundsOutput = namedOutputLimit(request) !== null;
  return { payload, parameters, boundsOutput, customTools: customToolNames(request), warnings };
}
