import type { ChatTemplateMessage } from '../contract/text-generation.js';
import type { ToolCall, ToolDefinition } from '../contract/tool-use.js';
import { type ControlTokens, restoreEscapedMarks } from '../text/control-tokens.js';
import type { ToolStyle } from './tool-style.js';

/** A message as chat templates know it. */
export type TemplateMessage = Record<string, unknown> & { role: string; content: string };

/** A tool as chat templates know it. */
export interface TemplateTool {
  type: 'function';
  function: { name: string; description?: string; parameters: object };
}

export function templateTools(tools: readonly ToolDefinition[]): TemplateTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, ...(description === undefined ? {} : { description }), parameters },
  }));
}

/** Messages for a template that knows tools: calls with their ids and arguments, results with the name of their function. */
export function nativeMessages(
  messages: readonly ChatTemplateMessage[],
  style: ToolStyle,
  /** Whether the template takes the arguments of a call as an object; else as text. */
  withObjects: boolean,
): TemplateMessage[] {
  const idFor = style.idFor ?? ((id: string) => id);
  const names = namesOfCalls(messages);
  return messages.map(({ toolCalls, toolCallId, ...message }) => ({
    ...message,
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls.map((call) => templateCall(call, idFor, withObjects)) }),
    ...(toolCallId === undefined
      ? {}
      : { tool_call_id: idFor(toolCallId), name: message.name ?? names.get(toolCallId) }),
  }));
}

function templateCall({ id, name, arguments: text }: ToolCall, idFor: (id: string) => string, withObjects: boolean) {
  return {
    id: idFor(id),
    type: 'function',
    function: { name, arguments: withObjects ? (JSON.parse(text) as unknown) : text },
  };
}

/**
 * Messages for a template that knows no tools: calls are text of the assistant, and results come from the user. The
 * contents are marked; names and arguments of calls are marked here.
 */
export function writtenMessages(
  messages: readonly ChatTemplateMessage[],
  { style, tools, control }: { style: ToolStyle; tools: readonly ToolDefinition[]; control: ControlTokens },
): TemplateMessage[] {
  const names = namesOfCalls(messages);
  const written: TemplateMessage[] = [];
  let isInResults = false;
  for (const { toolCalls, toolCallId, ...message } of messages) {
    if (message.role !== 'tool') {
      const calls = toolCalls === undefined ? '' : writeCalls(toolCalls, { style, tools, control });
      written.push({ ...message, content: [message.content, calls].filter((text) => text !== '').join('\n') });
      isInResults = false;
      continue;
    }
    const name = control.mark(names.get(toolCallId ?? '') ?? message.name ?? 'the function');
    const result = `Result of ${name}:\n${message.content}`;
    const last = isInResults ? written.at(-1) : undefined;
    if (last === undefined) written.push({ role: 'user', content: result });
    else last.content += `\n${result}`;
    isInResults = true;
  }
  return written;
}

/** The messages with a description of the tools: in the system message, or in the first one of the user. */
export function withDescription(
  messages: readonly TemplateMessage[],
  {
    into,
    ...described
  }: { style: ToolStyle; tools: readonly ToolDefinition[]; control: ControlTokens; into: 'system' | 'user' },
): TemplateMessage[] {
  const text = describeTools(described);
  const place = messages.findIndex(({ role }) => role === into);
  if (place < 0) return [{ role: into, content: text }, ...messages];
  return messages.map((message, index) =>
    index === place ? { ...message, content: `${message.content}\n\n${text}` } : message,
  );
}

/**
 * Calls as text of the assistant: the signs around them are structure, names and arguments are marked. A sign that hides
 * in escapes of JSON, which some styles resolve, is structure nowhere.
 */
function writeCalls(
  calls: readonly ToolCall[],
  { style, tools, control }: { style: ToolStyle; tools: readonly ToolDefinition[]; control: ControlTokens },
): string {
  const marked = calls.map(({ name, arguments: text, ...call }) => ({
    ...call,
    name: control.mark(name.toWellFormed()),
    arguments: replaceStrings(text.toWellFormed(), (string) => control.mark(string)),
  }));
  const structure = style.marks.filter((sign) => !calls.some((call) => hides(call, sign)));
  return control.markExcept(restoreEscapedMarks(style.write(marked, tools)), structure);
}

/** Changes every string of a JSON text, with its quotes; the last one ends with the text if nothing closes it. */
function replaceStrings(json: string, change: (string: string) => string): string {
  let changed = '';
  let end = 0;
  for (let start = json.indexOf('"'); start >= 0; start = json.indexOf('"', end)) {
    let close = start + 1;
    while (close < json.length && json[close] !== '"') close += json[close] === '\\' ? 2 : 1;
    changed += json.slice(end, start) + change(json.slice(start, close + 1));
    end = Math.min(close + 1, json.length);
  }
  return changed + json.slice(end);
}

function hides({ arguments: json }: ToolCall, sign: string): boolean {
  try {
    return JSON.stringify(JSON.parse(json.replaceAll(sign, ''))).includes(sign);
  } catch {
    return true;
  }
}

function namesOfCalls(messages: readonly ChatTemplateMessage[]): Map<string, string> {
  return new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name])));
}

/** The part of a prompt about tools whose template has none. The definitions are marked as text of a caller. */
function describeTools({
  style,
  tools,
  control,
}: {
  style: ToolStyle;
  tools: readonly ToolDefinition[];
  control: ControlTokens;
}): string {
  const listed = tools.map(({ name, description, parameters }) =>
    control.mark(JSON.stringify({ name, ...(description === undefined ? {} : { description }), parameters })),
  );
  const example: ToolDefinition = {
    name: 'function_name',
    param: '',
    parameters: { type: 'object', properties: { argument: { type: 'string' } } },
  };
  const call = style.write([{ id: '', name: example.name, arguments: '{"argument": "value"}' }], [example]);
  return [
    'You can call functions. These are the functions, with the JSON schema of their arguments:',
    listed.join('\n'),
    'To call a function, write its name and its arguments exactly like this:',
    call,
    'Call a function only where it helps. Results follow in the next message.',
  ].join('\n');
}
