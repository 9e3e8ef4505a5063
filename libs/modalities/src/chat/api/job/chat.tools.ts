import type { PlatformError } from '#common';
import { invalidField } from '#gateway';
import type { ChatJobFormat, ChatJobPayload } from '../../contract/chat.job.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import { type ChatClientTool, chosenNameOf } from '../../contract/chat.tools.js';
import { functionsOf } from './chat.functions.js';
import { customToolOf, type ToolDefinition, type ToolDefinitions, toolOf } from './chat.tool-definitions.js';
import { isClientTool, type ServerTools, serverToolsOf } from './server-tools.js';

/** Longest JSON of all tools together, in characters. */
const maxToolsLength = 1_000_000;

type ToolMembers = Pick<ChatJobPayload, 'tools' | 'toolChoice' | 'allowedTools' | 'parallelToolCalls'>;

/**
 * What a request says of tools; `format` is that of its texts, absent for any. Throws `INVALID_REQUEST` naming the first
 * field that is wrong.
 */
export function toolsOf(
  request: ChatCompletionRequest,
  { format, serverTools = serverToolsOf(request) }: { format?: ChatJobFormat; serverTools?: ServerTools } = {},
): ToolMembers {
  const { tools, choice, choiceField } = functionsOf(request) ?? namedTools(request, serverTools);
  checkDistinct(tools);
  checkLength(tools);
  const known = new Set(tools.map(({ tool }) => tool.name));
  const chosen = choiceOf(choice, choiceField, known);
  if (tools.length === 0) {
    const forced = chosen.toolChoice !== undefined && chosen.toolChoice !== 'auto' && chosen.toolChoice !== 'none';
    if (forced || chosen.allowedTools !== undefined) throw invalidField(`${choiceField} needs tools.`, choiceField);
    return {};
  }
  return { tools: tools.map(({ tool }) => tool), ...chosen, ...parallelOf(request, { ...chosen, format }) };
}

/** Tools of this service are no functions: the model does not call them in its response. */
function namedTools(request: ChatCompletionRequest, { areAll }: ServerTools): ToolDefinitions {
  const tools = (request.tools ?? []).flatMap((tool, index) => (isClientTool(tool) ? [clientTool(tool, index)] : []));
  const isTheirs = areAll && typeof request.tool_choice === 'string';
  return { tools, choice: isTheirs ? null : (request.tool_choice ?? null), choiceField: 'tool_choice' };
}

function clientTool(tool: ChatClientTool, index: number): ToolDefinition {
  const place = `tools[${index}]`;
  if ('custom' in tool) return customToolOf(tool.custom, `${place}.custom`);
  if (tool.type !== undefined && tool.type !== null && tool.type !== 'function') {
    throw invalidField(`${place}.type must be function or custom.`, `${place}.type`, 'invalid_enum_value');
  }
  return toolOf(tool.function, `${place}.function`);
}

/** Names of the tools whose calls have an input instead of arguments. */
export function customToolNames({ tools }: ChatCompletionRequest): ReadonlySet<string> {
  return new Set((tools ?? []).flatMap((tool) => ('custom' in tool ? [tool.custom.name] : [])));
}

function checkDistinct(tools: readonly ToolDefinition[]): void {
  const seen = new Set<string>();
  for (const { tool, nameField } of tools) {
    if (seen.has(tool.name))
      throw invalidField(`${nameField} is the name of an earlier tool: ${tool.name}.`, nameField);
    seen.add(tool.name);
  }
}

function checkLength(tools: readonly ToolDefinition[]): void {
  const [first] = tools;
  if (first === undefined) return;
  const length = tools.reduce((sum, { tool }) => sum + JSON.stringify(tool).length, 0);
  if (length <= maxToolsLength) return;
  const param = first.nameField.startsWith('functions') ? 'functions' : 'tools';
  throw invalidField(`${param} must not be longer than ${maxToolsLength} characters.`, param, 'too_big');
}

/** The members of a `tool_choice` whose form is checked already. */
function choiceOf(choice: unknown, param: string, known: ReadonlySet<string>): ToolMembers {
  if (choice === null || choice === undefined) return {};
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { toolChoice: choice };
  const { allowed_tools: allowed } = choice as { allowed_tools?: { mode: 'auto' | 'required'; tools: unknown[] } };
  const missing = (name: string): PlatformError =>
    invalidField(`${param} names a tool that is not among the tools: ${name.slice(0, 64)}.`, param);
  if (allowed !== undefined) {
    const names = allowed.tools.map((tool) => chosenNameOf(tool) ?? '');
    const unknown = names.find((name) => !known.has(name));
    if (unknown !== undefined) throw missing(unknown);
    return { toolChoice: allowed.mode, allowedTools: names };
  }
  const name = chosenNameOf(choice) ?? '';
  if (known.size > 0 && !known.has(name)) throw missing(name);
  return { toolChoice: { name } };
}

/** A response that is either one call or a document cannot hold several calls. */
function parallelOf(
  request: ChatCompletionRequest,
  { toolChoice, format }: ToolMembers & { format?: ChatJobFormat },
): ToolMembers {
  const parallel = request.parallel_tool_calls ?? null;
  if (format === undefined || toolChoice === 'none') return parallel === null ? {} : { parallelToolCalls: parallel };
  if (parallel === true) {
    throw invalidField('parallel_tool_calls must be false with a response format.', 'parallel_tool_calls');
  }
  return { parallelToolCalls: false };
}
