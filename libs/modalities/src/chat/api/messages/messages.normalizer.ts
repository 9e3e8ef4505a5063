import { invalidField } from '#gateway';
import { findUnknownMembers, invalidRequest, type NewableClass, validateBody } from '#platform/validation';
import type { ChatMessage } from '../../contract/chat.message.js';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import type { MessagesCountRequest, MessagesRequest } from '../../contract/messages/messages.request.js';
import { FieldNames } from '../job/field-names.js';
import { withoutNulls } from '../job/without-nulls.js';
import { markMessage, MessagesConversation, type OpenSignature } from './messages.conversation.js';

/** A Messages request as the chat request that it is. */
export interface TranslatedMessages {
  chat: ChatCompletionRequest;
  /** Names of the fields of `chat` in the request. */
  names: FieldNames;
  /** Tokens of reasoning that the request grants. Absent: as many as its effort means. */
  thinkingBudget?: number;
  /** Leaves the text of the reasoning out of the response. */
  omitsThinking: boolean;
  warnings: ChatWarning[];
}

type AnyRequest = MessagesCountRequest & Partial<MessagesRequest>;

/** Throws `INVALID_REQUEST` naming the first field of a checked request that this route does not have. */
export function refuseUnknown(type: NewableClass, request: object): void {
  const issues = findUnknownMembers(type, request);
  if (issues.length > 0) throw invalidRequest(issues);
}

function conversationOf(request: AnyRequest, names: FieldNames, openSignature: OpenSignature): ChatMessage[] {
  const conversation = new MessagesConversation(names, openSignature);
  conversation.addSystem(request.system ?? '', 'system');
  for (const [position, message] of request.messages.entries()) conversation.add(message, `messages[${position}]`);
  const { messages } = conversation;
  // Templates write the tools at the beginning.
  const marked = request.tools?.findLast(({ cache_control: mark }) => mark);
  if (marked) markMessage(messages[0], marked);
  markMessage(messages.at(-1), request);
  return messages;
}

/** Models here answer a conversation, and do not continue an answer that a client has begun. */
function refusePrefill({ messages }: AnyRequest): void {
  const last = messages.length - 1;
  if (messages[last]?.role !== 'assistant') return;
  const field = `messages[${last}].role`;
  const message = `${field} must not be assistant in the last message: an answer that the client begins is not continued here.`;
  throw invalidField(message, field, 'unsupported');
}

function toolsOf({ tools }: AnyRequest, names: FieldNames) {
  if (!tools || tools.length === 0) return undefined;
  return tools.map(({ name, description, input_schema: parameters, strict }, position) => {
    const field = `tools[${position}]`;
    names.set(`${field}.function`, field);
    names.set(`${field}.function.parameters`, `${field}.input_schema`);
    return { type: 'function', function: withoutNulls({ name, description, parameters, strict }) };
  });
}

function toolChoiceOf({ tool_choice: choice }: AnyRequest): unknown {
  if (!choice) return undefined;
  if (choice.type === 'any') return 'required';
  if (choice.type !== 'tool') return choice.type;
  if (!choice.name) throw invalidField('tool_choice.name is required for a tool.', 'tool_choice.name', 'required');
  return { type: 'function', function: { name: choice.name } };
}

function formatOf({ output_config: config, output_format: older }: AnyRequest, names: FieldNames) {
  const newer = config?.format ?? null;
  if (newer !== null && older) {
    throw invalidField('output_format and output_config.format exclude each other.', 'output_format');
  }
  const format = newer ?? older ?? null;
  if (format === null) return undefined;
  const field = newer === null ? 'output_format' : 'output_config.format';
  names.set('response_format', field);
  names.set('response_format.json_schema', `${field}.schema`);
  names.set('response_format.json_schema.schema', `${field}.schema`);
  return { type: 'json_schema', json_schema: { name: 'output', schema: format.schema, strict: true } };
}

function checkThinking({ thinking, max_tokens: maxTokens }: AnyRequest): void {
  const budget = thinking?.budget_tokens ?? null;
  const field = 'thinking.budget_tokens';
  if (thinking?.type === 'enabled' && budget === null) {
    throw invalidField(`${field} is required where thinking is enabled.`, field, 'required');
  }
  if (budget === null) return;
  if (thinking?.type !== 'enabled') throw invalidField(`${field} needs a thinking.type of enabled.`, field);
  if (maxTokens !== undefined && budget >= maxTokens) {
    throw invalidField(`${field} must be less than max_tokens.`, field, 'too_big');
  }
}

/** The reasoning that a request asks for. Without any, what a model reasons anyway is left out. */
function reasoningOf(request: AnyRequest) {
  const { thinking, output_config: config } = request;
  const { type = 'disabled' } = thinking ?? {};
  if (type === 'disabled') return { service_parameters: { disable_thinking: true } };
  const effort = config?.effort ?? undefined;
  const enabled = type === 'enabled' ? true : undefined;
  return { reasoning: effort || enabled ? withoutNulls({ enabled, effort }) : undefined };
}

function warningsOf({ thinking, output_config: config }: AnyRequest): ChatWarning[] {
  if (!config?.effort || (thinking && thinking.type !== 'disabled')) return [];
  const message = 'The effort says how much to reason, and thinking is off.';
  return [{ code: 'reduced_to_model', param: 'output_config.effort', message }];
}

/**
 * Translates a request to the chat request with the same meaning, checked as one. Throws `INVALID_REQUEST` naming the field
 * of the request.
 */
export function translateMessages(
  request: MessagesRequest | MessagesCountRequest,
  openSignature: OpenSignature,
): TranslatedMessages {
  const body: AnyRequest = request;
  const names = new FieldNames();
  names.set('max_completion_tokens', 'max_tokens');
  names.set('stop', 'stop_sequences');
  names.set('user', 'metadata.user_id');
  names.set('parallel_tool_calls', 'tool_choice.disable_parallel_tool_use');
  names.set('reasoning.enabled', 'thinking.type');
  names.set('reasoning.effort', 'output_config.effort');
  if (body.max_tokens !== undefined) refusePrefill(body);
  checkThinking(body);
  const chat = withoutNulls({
    model: body.model,
    messages: conversationOf(body, names, openSignature),
    stream: body.stream === true,
    max_completion_tokens: body.max_tokens,
    temperature: body.temperature,
    top_p: body.top_p,
    top_k: body.top_k,
    stop: body.stop_sequences,
    tools: toolsOf(body, names),
    tool_choice: toolChoiceOf(body),
    parallel_tool_calls: body.tool_choice?.disable_parallel_tool_use === true ? false : undefined,
    response_format: formatOf(body, names),
    user: body.metadata?.user_id,
    ...reasoningOf(body),
  });
  const { thinking } = body;
  try {
    return {
      chat: validateBody(ChatCompletionRequest, chat),
      names,
      ...(thinking?.budget_tokens && { thinkingBudget: thinking.budget_tokens }),
      omitsThinking: thinking?.display === 'omitted',
      warnings: warningsOf(body),
    };
  } catch (error) {
    throw names.rename(error);
  }
}
