import { isObject } from '#common/values';
import { invalidField } from '#gateway';
import type { ChatJobMessage, ChatJobToolCall } from '../../contract/chat.job.js';
import type { ChatMessage } from '../../contract/chat.message.js';
import { customArguments } from './custom-input.js';

/**
 * The members of each message that tools need, those of the deprecated `function_call` too. Throws `INVALID_REQUEST`
 * naming the field of a call that is incomplete, and of a result without its call.
 */
export function toolMessages(messages: readonly ChatMessage[]): Pick<ChatJobMessage, 'toolCalls' | 'toolCallId'>[] {
  const known = new Set<string>();
  /** Ids of the last deprecated call of each function. */
  const named = new Map<string, string>();
  return messages.map((message, position) => {
    const place = `messages[${position}]`;
    if (message.role === 'tool') {
      const { tool_call_id: id } = message;
      if (!known.has(id)) {
        const text = `${place}.tool_call_id names no tool call of an earlier message: ${id.slice(0, 64)}.`;
        throw invalidField(text, `${place}.tool_call_id`);
      }
      return { toolCallId: id };
    }
    if (message.role === 'function') {
      const id = named.get(message.name);
      if (id !== undefined) return { toolCallId: id };
      const text = `${place}.name names no function_call of an earlier message: ${message.name.slice(0, 64)}.`;
      throw invalidField(text, `${place}.name`);
    }
    if (message.role !== 'assistant') return {};
    const { function_call: deprecated = null } = message as { function_call?: unknown };
    if (deprecated !== null) {
      if ((message.tool_calls?.length ?? 0) > 0) {
        throw invalidField(`${place}.function_call and tool_calls exclude each other.`, `${place}.function_call`);
      }
      const call = { id: `call_${position}`, ...functionOf(deprecated, `${place}.function_call`) };
      named.set(call.name, call.id);
      return { toolCalls: [call] };
    }
    const calls = (message.tool_calls ?? []).map((call, index) => callOf(call, `${place}.tool_calls[${index}]`));
    for (const { id } of calls) known.add(id);
    return calls.length === 0 ? {} : { toolCalls: calls };
  });
}

function callOf(call: unknown, place: string): ChatJobToolCall {
  if (!isObject(call)) throw invalidField(`${place} must be an object.`, place);
  const { id, type, function: called, custom } = call;
  if (typeof id !== 'string' || id === '') throw invalidField(`${place}.id must be a non-empty string.`, `${place}.id`);
  if (type === 'custom') return { id, ...customOf(custom, `${place}.custom`) };
  if ((type ?? 'function') !== 'function') {
    throw invalidField(`${place}.type must be function or custom.`, `${place}.type`, 'invalid_enum_value');
  }
  return { id, ...functionOf(called, `${place}.function`) };
}

function functionOf(called: unknown, place: string): Omit<ChatJobToolCall, 'id'> {
  if (!isObject(called)) throw invalidField(`${place} must be an object.`, place);
  const { name, arguments: text } = called;
  return { name: nameOf(name, place), arguments: argumentsOf(text, `${place}.arguments`) };
}

/** The call of a custom tool as the model wrote it: with one argument. */
function customOf(called: unknown, place: string): Omit<ChatJobToolCall, 'id'> {
  if (!isObject(called)) throw invalidField(`${place} must be an object.`, place);
  const { name, input } = called;
  if (typeof input !== 'string') throw invalidField(`${place}.input must be a string.`, `${place}.input`);
  return { name: nameOf(name, place), arguments: customArguments(input) };
}

function nameOf(name: unknown, place: string): string {
  if (typeof name === 'string' && name !== '') return name;
  throw invalidField(`${place}.name must be a non-empty string.`, `${place}.name`);
}

/**
 * Templates read the arguments as an object. An empty text is what some clients send for a function without arguments;
 * anything else that is no object, such as arguments that the output limit cut, is shown to the model as text.
 */
function argumentsOf(text: unknown, param: string): string {
  if (typeof text !== 'string') throw invalidField(`${param} must be a string.`, param);
  if (text.trim() === '') return '{}';
  return isObject(parsed(text)) ? text : JSON.stringify({ invalid_arguments: text });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
