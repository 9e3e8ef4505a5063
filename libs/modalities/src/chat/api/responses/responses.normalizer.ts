import { invalidField } from '#gateway';
import { validateBody } from '#platform/validation';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ResponsesItem } from '../../contract/responses/responses.items.js';
import type { ResponsesFormat, ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { ResponsesWarning } from '../../contract/responses/responses.response.js';
import { chosenToolOf } from '../../contract/responses/responses.tools.js';
import { FieldNames } from '../job/field-names.js';
import { withoutNulls } from '../job/without-nulls.js';
import { ConversationBuilder, type OpenReasoning } from './responses.messages.js';
import { chatToolName, type ToolNames } from './tool-names.js';
import { ToolTranslator } from './tool-translator.js';

/** A Responses request as the chat request that it is. */
export interface TranslatedResponses {
  chat: ChatCompletionRequest;
  /** Names of the fields of `chat` in the Responses request. */
  names: FieldNames;
  /** Tools that the model sees, as the response echoes them. */
  tools: object[];
  /** The same by their names in the chat. */
  toolNames: ToolNames;
  warnings: ResponsesWarning[];
}

const encryptedReasoning = 'reasoning.encrypted_content';
const previousField = 'previous_response_id';
const outputLogprobs = 'message.output_text.logprobs';

export function wantsEncryptedReasoning({ include }: ResponsesRequest): boolean {
  return include?.includes(encryptedReasoning) === true;
}

function conversationOf(
  request: ResponsesRequest,
  names: FieldNames,
  { openReasoning, history }: { openReasoning: OpenReasoning; history: readonly ResponsesItem[] | null },
) {
  const { input, instructions } = request;
  const builder = new ConversationBuilder(names, openReasoning);
  names.set('messages', 'input');
  if (instructions) builder.addText('system', instructions, 'instructions');
  if (history !== null) builder.addHistory(history, previousField);
  if (history !== null && history.length > 0 && input.length === 0) return builder.finish();
  // Coding agents probe a service with an empty input.
  if (typeof input === 'string' || input.length === 0) builder.addText('user', input.toString(), 'input');
  else for (const [position, item] of input.entries()) builder.addItem(item, `input[${position}]`);
  return builder.finish();
}

/** Clients send other values too, which mean the default time. */
function longerRetention({ prompt_cache_retention: retention }: ResponsesRequest): string | undefined {
  return retention === '24h' || retention === 'extended' ? retention : undefined;
}

function chatToolChoice(choice: unknown): unknown {
  if (typeof choice === 'string' || choice === undefined || choice === null) return choice ?? undefined;
  const chosen = chosenToolOf(choice);
  if (chosen !== null) return { type: 'function', function: { name: chatToolName(chosen) } };
  const { mode, tools } = choice as { mode: string; tools: unknown[] };
  const allowed = tools
    .flatMap((tool) => chosenToolOf(tool) ?? [])
    .map((tool) => ({ type: 'function', function: { name: chatToolName(tool) } }));
  return { type: 'allowed_tools', allowed_tools: { mode, tools: allowed } };
}

function chatFormat(format: ResponsesFormat | null | undefined, names: FieldNames) {
  if (!format) return undefined;
  names.set('response_format', 'text.format');
  names.set('response_format.json_schema', 'text.format');
  const { type, name, schema, strict, description } = format;
  if (type === 'json_object') return withoutNulls({ type, schema });
  if (type !== 'json_schema') return { type };
  return { type, json_schema: withoutNulls({ name, schema, strict, description }) };
}

function serviceParameters(
  { service_parameters: extensions, web_search: search, tools }: ResponsesRequest,
  names: FieldNames,
) {
  const hasSearchTool = tools?.some(({ type }) => type === 'web_search' || type === 'x_search') === true;
  if (search === true) names.set('service_parameters.enable_web_search', 'web_search');
  const { character_slug, enable_e2ee, enable_web_search, enable_web_scraping } = extensions ?? {};
  const { enable_web_citations, include_service_system_prompt, include_search_results_in_stream } = extensions ?? {};
  return withoutNulls({
    character_slug,
    enable_e2ee,
    enable_web_search: search === true ? 'on' : enable_web_search,
    enable_web_scraping,
    // Clients of this format read citations as annotations.
    enable_web_citations: enable_web_citations ?? (search === true || hasSearchTool ? true : undefined),
    include_service_system_prompt,
    include_search_results_in_stream,
  });
}

function logprobsOf({ include, top_logprobs: top }: ResponsesRequest, names: FieldNames) {
  names.set('logprobs', 'include');
  if (include?.includes(outputLogprobs) === true) return { logprobs: true, top_logprobs: top ?? 0 };
  if ((top ?? 0) === 0) return {};
  throw invalidField(`top_logprobs needs ${outputLogprobs} in include.`, 'top_logprobs');
}

/**
 * Translates a Responses request to the chat request with the same meaning, checked as one; `history` are the items
 * of the response before, null where there is none or nothing is stored. Throws `INVALID_REQUEST` naming the field of the Responses request.
 */
export function translateResponses(
  request: ResponsesRequest,
  openReasoning: OpenReasoning,
  history: readonly ResponsesItem[] | null = null,
): TranslatedResponses {
  if (history === null && (request.previous_response_id ?? null) !== null) {
    const message = `${previousField} is refused: no response is stored here; send its items as input.`;
    throw invalidField(message, previousField, 'unsupported');
  }
  const names = new FieldNames();
  names.set('max_completion_tokens', 'max_output_tokens');
  names.set('verbosity', 'text.verbosity');
  const translator = new ToolTranslator(names);
  for (const [position, tool] of (request.tools ?? []).entries()) translator.add(tool, `tools[${position}]`);
  const { chat: chatTools, tools, warnings, known: toolNames } = translator;
  const { effort } = request.reasoning ?? {};
  const chat = withoutNulls({
    model: request.model,
    messages: conversationOf(request, names, { openReasoning, history }),
    stream: request.stream === true,
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    ...logprobsOf(request, names),
    reasoning: effort ? { effort } : undefined,
    tools: chatTools.length > 0 ? chatTools : undefined,
    tool_choice: chatToolChoice(request.tool_choice),
    parallel_tool_calls: request.parallel_tool_calls,
    response_format: chatFormat(request.text?.format, names),
    verbosity: request.text?.verbosity,
    prompt_cache_key: request.prompt_cache_key,
    prompt_cache_retention: longerRetention(request),
    metadata: request.metadata,
    service_parameters: serviceParameters(request, names),
  });
  try {
    return { chat: validateBody(ChatCompletionRequest, chat), names, tools, toolNames, warnings };
  } catch (error) {
    throw names.rename(error);
  }
}
