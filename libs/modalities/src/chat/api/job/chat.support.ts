import { PlatformError } from '#common';
import { invalidField } from '#gateway';
import { builtCapabilities, type InputAdapters, type ModelManifest } from '#model-registry/manifest';
import type { ChatJobFormat } from '../../contract/chat.job.js';
import type { ChatAssistantMessage, ChatMessage, ChatPart } from '../../contract/chat.message.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { ServerTools } from './server-tools.js';
import { noWebAccess, type WebAccess } from './web-access.js';

type ModelCapabilities = ModelManifest['capabilities'];

/** What the model supports, to check a request against. */
export interface ChatModelLimits {
  id: string;
  /** Family of the engine, which decides what the model can see; absent: text alone. */
  family?: string;
  capabilities: ModelCapabilities;
  /** Maximum choices of one request. */
  maxChoices: number;
  /** Maximum tokens of one choice. */
  maxCompletionTokens: number;
  /** Models that read inputs for this one. */
  inputAdapters: InputAdapters;
  /** Absent: it cannot look anything up. */
  web?: WebAccess;
  /** Skips tools of this service that the model cannot use, where the request has others. Default: they are refused. */
  serverToolsAreOptional?: boolean;
  /** A conversation that does not fit loses its oldest messages. Default: it is refused. */
  truncates?: boolean;
  /**
   * Lowers reasoning and output bounds that the model does not have to what it has, and says so in a warning. Default:
   * they are refused.
   */
  reducesToModel?: boolean;
  /** Absent: the character that the request names does not exist. */
  characterPrompt?: string;
}

function unsupported(model: ChatModelLimits, what: string, param: string): PlatformError {
  return invalidField(`The model ${model.id} does not support ${what}.`, param, 'unsupported');
}

const partNeeds: Record<
  Exclude<ChatPart['type'], 'text' | 'file'>,
  { what: string; able: (can: ModelCapabilities, adapters: InputAdapters) => boolean }
> = {
  image_url: { what: 'images', able: (can, { image }) => can.supportsVision || image !== undefined },
  input_audio: { what: 'audio input', able: (can, { audio }) => can.supportsAudioInput || audio !== undefined },
  video_url: {
    what: 'video input',
    able: (can, { audio, image }) => can.supportsVideoInput || (audio ?? image) !== undefined,
  },
};

function hasCalls(message: ChatAssistantMessage & { function_call?: unknown }): boolean {
  return (message.tool_calls?.length ?? 0) > 0 || (message.function_call ?? null) !== null;
}

function checkMessage(message: ChatMessage, position: number, model: ChatModelLimits): void {
  const place = `messages[${position}]`;
  const content = message.content ?? null;
  if (message.role === 'assistant' && content === null && !hasCalls(message)) {
    throw invalidField(`${place}.content is required without tool_calls.`, `${place}.content`, 'required');
  }
  if (!Array.isArray(content)) return;
  for (const [index, part] of content.entries()) {
    // Every model reads files: their text enters the prompt.
    if (part.type === 'text' || part.type === 'file') continue;
    const { what, able } = partNeeds[part.type];
    if (!able(model.capabilities, model.inputAdapters)) throw unsupported(model, what, `${place}.content[${index}]`);
  }
}

const maxSchemaLength = 1_000_000;

function checkFormat(request: ChatCompletionRequest, format: ChatJobFormat | undefined, model: ChatModelLimits): void {
  if (request.response_schema && format?.param !== 'response_schema') {
    throw invalidField('response_schema and response_format exclude each other.', 'response_schema');
  }
  if (format?.schema !== undefined && JSON.stringify(format.schema).length > maxSchemaLength) {
    throw invalidField(
      `${format.param} must not be longer than ${maxSchemaLength} characters.`,
      format.param,
      'too_big',
    );
  }
  if (model.capabilities.supportsResponseSchema) return;
  if ((request.response_format?.type ?? 'text') !== 'text') {
    throw unsupported(model, 'structured output', 'response_format');
  }
  if ((request.response_schema ?? null) !== null) throw unsupported(model, 'structured output', 'response_schema');
}

function checkReasoning(request: ChatCompletionRequest, effort: string | null, model: ChatModelLimits): void {
  const { supportsReasoning, supportsReasoningEffort, reasoningEffortOptions } = model.capabilities;
  const param = (request.reasoning_effort ?? null) === null ? 'reasoning.effort' : 'reasoning_effort';
  // `none` is always possible for a model that cannot reason.
  const idle = effort === null || (effort === 'none' && !supportsReasoning);
  if (!idle && !supportsReasoningEffort) throw unsupported(model, 'reasoning efforts', param);
  if (!idle && !(reasoningEffortOptions ?? []).includes(effort)) {
    const options = (reasoningEffortOptions ?? []).join(', ');
    throw invalidField(`The model ${model.id} takes these reasoning efforts: ${options}.`, param, 'unsupported');
  }
  // The others ask for what is sent anyway: the reasoning in full.
  if (request.reasoning?.summary === 'concise') throw unsupported(model, 'summaries of reasoning', 'reasoning.summary');
  if (request.reasoning?.enabled === true && !supportsReasoning)
    throw unsupported(model, 'reasoning', 'reasoning.enabled');
}

function checkLogprobs(request: ChatCompletionRequest, model: ChatModelLimits): void {
  if (request.logprobs === true && !model.capabilities.supportsLogProbs)
    throw unsupported(model, 'logprobs', 'logprobs');
  // Libraries write out the default 0.
  if ((request.top_logprobs ?? 0) > 0 && request.logprobs !== true) {
    throw invalidField('top_logprobs needs logprobs to be true.', 'top_logprobs');
  }
}

function checkCounts(request: ChatCompletionRequest, model: ChatModelLimits): void {
  if ((request.n ?? 1) > model.maxChoices) {
    throw invalidField(`n must not be greater than ${model.maxChoices} for the model ${model.id}.`, 'n', 'too_big');
  }
  const visible = request.max_completion_tokens ?? null;
  const requested = visible ?? request.max_tokens ?? 0;
  if (requested > model.maxCompletionTokens) {
    const param = visible === null ? 'max_tokens' : 'max_completion_tokens';
    const max = model.maxCompletionTokens;
    throw invalidField(`${param} must not be greater than ${max} for the model ${model.id}.`, param, 'too_big');
  }
  const { min_temp: min, max_temp: max } = request;
  if (typeof min === 'number' && typeof max === 'number' && min > max) {
    throw invalidField('min_temp must not be greater than max_temp.', 'min_temp', 'too_big');
  }
}

/** Fields of other services that ask for what no model here does, with what they may be. */
const foreignFields: Readonly<Record<string, { what: string; isHarmless: (value: unknown) => boolean }>> = {
  modalities: {
    what: 'other output than text',
    isHarmless: (value) => Array.isArray(value) && value.every((kind) => kind === 'text'),
  },
  audio: { what: 'audio output', isHarmless: () => false },
  web_search_options: { what: 'web search', isHarmless: () => false },
};

function checkForeign(request: object, model: ChatModelLimits): void {
  for (const [field, { what, isHarmless }] of Object.entries(foreignFields)) {
    const value = (request as Record<string, unknown>)[field] ?? null;
    if (value !== null && !isHarmless(value)) throw unsupported(model, what, field);
  }
}

function checkSearch(parameters: ChatEffectiveParameters, model: ChatModelLimits): void {
  const access = model.web ?? noWebAccess(model.id);
  const place = 'service_parameters';
  if (parameters.character_slug !== undefined && model.characterPrompt === undefined) {
    throw new PlatformError('CHARACTER_NOT_FOUND', 'There is no such character.', `${place}.character_slug`);
  }
  // `auto` leaves it to the service, which then answers without.
  if (parameters.enable_web_search === 'on') requireAccess(access.search, `${place}.enable_web_search`);
  if (parameters.enable_web_scraping) requireAccess(access.pages, `${place}.enable_web_scraping`);
  if (parameters.enable_x_search) requireAccess(access.xSearch, `${place}.enable_x_search`);
}

function requireAccess(problem: string | null, param: string): void {
  if (problem !== null) throw invalidField(problem, param, 'unsupported');
}

/** A tool of this service that the model cannot use. */
export interface UnusableTool {
  /** Its field. */
  path: string;
  /** Why, as a message for the client. */
  problem: string;
}

/** Returns the tools of this service that the model cannot use, where the request may go on without them. */
function checkServerTools({ tools, areAll }: ServerTools, model: ChatModelLimits): UnusableTool[] {
  const access = model.web ?? noWebAccess(model.id);
  const unusable = tools.flatMap(({ type, path }) => {
    const problem = type === 'x_search' ? access.xSearch : access.search;
    return problem === null ? [] : [{ path, problem }];
  });
  const [first] = unusable;
  const areOptional = model.serverToolsAreOptional === true && !areAll;
  if (first === undefined || areOptional) return unusable;
  throw invalidField(first.problem, `${first.path}.type`, 'unsupported');
}

/** What a request says in one of several fields, in effect. */
export interface EffectiveFields {
  parameters: ChatEffectiveParameters;
  format: ChatJobFormat | undefined;
  effort: string | null;
  serverTools: ServerTools;
}

/**
 * Throws `INVALID_REQUEST` naming the first field that the model's capabilities do not support. Returns the tools of this
 * service that are left out instead.
 */
export function checkSupport(
  request: ChatCompletionRequest,
  { parameters, format, effort, serverTools }: EffectiveFields,
  { capabilities, ...limits }: ChatModelLimits,
): UnusableTool[] {
  const model: ChatModelLimits = {
    ...limits,
    capabilities: builtCapabilities({ type: 'text', family: limits.family, capabilities }),
  };
  checkCounts(request, model);
  for (const [position, message] of request.messages.entries()) checkMessage(message, position, model);
  checkFormat(request, format, model);
  checkReasoning(request, effort, model);
  checkLogprobs(request, model);
  checkSearch(parameters, model);
  const unusable = checkServerTools(serverTools, model);
  checkForeign(request, model);
  return unusable;
}
