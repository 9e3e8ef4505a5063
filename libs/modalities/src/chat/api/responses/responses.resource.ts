import type { TokenUsage } from '#common';
import type { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type {
  ResponsesError,
  ResponsesOutputItem,
  ResponsesResponse,
  ResponsesUsage,
  ResponsesWarning,
} from '../../contract/responses/responses.response.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';

/** Members of a response that do not change while it is generated. */
export type ResponsesHead = Omit<
  ResponsesResponse,
  'status' | 'completed_at' | 'error' | 'incomplete_details' | 'output' | 'usage'
>;

export interface HeadSources {
  request: ResponsesRequest;
  chat: NormalizedChat;
  tools: object[];
  warnings: ResponsesWarning[];
  requestId: string;
  /** The id that the requested model resolved to. */
  modelId: string;
  isStored: boolean;
}

export function responsesId(requestId: string): string {
  return `resp_${requestId}`;
}

function textOptions({ text }: ResponsesRequest): ResponsesHead['text'] {
  return { format: text?.format ?? { type: 'text' }, verbosity: text?.verbosity ?? 'medium' };
}

/** Builds the constant members of a response, with the values in effect. */
export function responsesHead(sources: HeadSources): ResponsesHead {
  const { request, chat, tools, warnings, requestId, modelId, isStored } = sources;
  const { sampling, topLogprobs } = chat.payload;
  const { reasoning } = request;
  return {
    id: responsesId(requestId),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    background: false,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    model: modelId,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: 'default',
    store: isStored,
    temperature: sampling.temperature ?? 1,
    text: textOptions(request),
    tool_choice: request.tool_choice ?? 'auto',
    tools,
    top_logprobs: topLogprobs ?? 0,
    top_p: sampling.topP ?? 1,
    presence_penalty: sampling.presencePenalty ?? 0,
    frequency_penalty: sampling.frequencyPenalty ?? 0,
    truncation: request.truncation === 'auto' ? 'auto' : 'disabled',
    user: request.user ?? null,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

export function presentResponsesUsage(usage: TokenUsage): ResponsesUsage {
  const { promptTokens, cachedTokens, cacheWriteTokens = 0, completionTokens, reasoningTokens } = usage;
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}

/** How far a response is. */
export type ResponsesState =
  | { status: 'in_progress' }
  | { status: 'completed' | 'incomplete'; usage: TokenUsage }
  | { status: 'failed'; error: ResponsesError };

/** The resource as it is sent. */
export function presentResource(
  head: ResponsesHead,
  state: ResponsesState,
  output: ResponsesOutputItem[],
): ResponsesResponse {
  const isDone = state.status === 'completed';
  return {
    ...head,
    status: state.status,
    completed_at: isDone ? Math.floor(Date.now() / 1000) : null,
    error: 'error' in state ? state.error : null,
    incomplete_details: state.status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    output,
    usage: 'usage' in state ? presentResponsesUsage(state.usage) : null,
  };
}
