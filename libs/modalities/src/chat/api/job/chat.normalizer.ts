import type { ChatJobPayload } from '../../contract/chat.job.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import { cacheSecondsOf } from './chat.caching.js';
import { conversation, platformPrompt } from './chat.conversation.js';
import { formatOf } from './chat.format.js';
import type { ChatModel } from './chat.model.js';
import { reduceToModel } from './chat.reductions.js';
import { effectiveParameters, effortOf } from './chat.parameters.js';
import { thinkingOf } from './chat.reasoning.js';
import { outputLimitOf, samplingOf, stopStrings } from './chat.sampling.js';
import { checkSupport, type EffectiveFields, type UnusableTool } from './chat.support.js';
import { customToolNames, toolsOf } from './chat.tools.js';
import { checkPromptLength } from './prompt-length.js';
import { checkSchemas } from './schema-checks.js';
import { serverToolsOf, withServerTools } from './server-tools.js';

export interface NormalizedChat {
  payload: ChatJobPayload;
  parameters: ChatEffectiveParameters;
  /** Whether the client set an output bound; otherwise the model's applies. */
  boundsOutput: boolean;
  /** What of the request's schemas the texts do not follow. */
  warnings: ChatWarning[];
  /** Names of the tools whose calls have an input instead of arguments. */
  customTools: ReadonlySet<string>;
  /** Tools of this service that are left out, because the model cannot use them. */
  unusableTools: UnusableTool[];
}

/** Texts that a request continues instead of a conversation. */
export type RawPrompts = Pick<ChatJobPayload, 'prompts' | 'echo'>;

/** Reads what a request may say in its suffix, its body or its tools, or in fields of two names. */
function effectiveFields(request: ChatCompletionRequest, { suffix, sealing }: ChatModel): EffectiveFields {
  const parameters = effectiveParameters(suffix, request.service_parameters);
  const effort = effortOf(request);
  const serverTools = serverToolsOf(request);
  const searching = withServerTools(parameters, serverTools, request.tool_choice);
  return {
    // An encrypted conversation is the client's alone.
    parameters: sealing === undefined ? searching : { ...searching, include_service_system_prompt: false },
    format: formatOf(request),
    effort,
    serverTools,
  };
}

/**
 * Converts the request to the job payload. Throws `INVALID_REQUEST` for what the model does not support and
 * `TOO_MANY_TOKENS` for a prompt that cannot fit. `checked` is the same request with other messages: its schemas, which may
 * be long, are examined once.
 */
export function normalizeChat(
  body: ChatCompletionRequest,
  model: ChatModel,
  raw: RawPrompts = {},
  checked?: Pick<NormalizedChat, 'warnings'>,
): NormalizedChat {
  const { sealing, truncates, contextLength } = model;
  const { request, warnings: reductions } = reduceToModel(body, model);
  const fields = effectiveFields(request, model);
  const unusableTools = checkSupport(request, fields, model);
  const { parameters, format } = fields;
  const systemPrompt = platformPrompt(model, parameters);
  const messages = raw.prompts === undefined ? conversation(request.messages, systemPrompt) : [];
  const tools = toolsOf(request, fields);
  const customTools = customToolNames(request);
  if (truncates !== true) checkPromptLength({ ...tools, messages, prompts: raw.prompts, sealing }, contextLength);
  const { maxTokens, boundsOutput } = outputLimitOf(request, model);
  const payload: ChatJobPayload = {
    messages,
    ...raw,
    sampling: samplingOf(request, model),
    ...(Object.keys(request.logit_bias ?? {}).length === 0 ? {} : { logitBias: request.logit_bias }),
    n: request.n ?? 1,
    maxTokens,
    stop: stopStrings(request.stop),
    stopTokenIds: request.stop_token_ids ?? [],
    topLogprobs: request.logprobs === true ? (request.top_logprobs ?? 0) : null,
    ...thinkingOf(request, fields, model),
    stripThinking: parameters.strip_thinking_response || parameters.disable_thinking,
    ...(typeof request.prompt_cache_key === 'string' ? { promptCacheKey: request.prompt_cache_key } : {}),
    ...cacheSecondsOf(request),
    ...(systemPrompt === null || raw.prompts !== undefined ? {} : { platformCharacters: systemPrompt.length }),
    ...(format === undefined ? {} : { format }),
    ...(truncates === true ? { truncates: true } : {}),
    ...(sealing === undefined ? {} : { sealing }),
    ...tools,
  };
  const warnings = checked?.warnings ?? [...reductions, ...checkSchemas(payload)];
  return { payload, parameters, boundsOutput, customTools, unusableTools, warnings };
}
