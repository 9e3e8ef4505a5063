import { isObject } from '#common/values';
import { BooleanField, ChoiceField, FreeObjectField, ObjectField, ObjectListField, TextField } from '#platform/http';
import { type NestedClass } from '#platform/validation';
import { ChatFunction, DayField, HandlesField } from '../chat.tools.js';
import { NameField, TypeField } from './request-fields.js';

/* Tools of the Responses format. */

/** A function that the client runs, as the OpenAI reference has it. */
export class ResponsesFunctionTool {
  @TypeField('function', 'tool', 'function') type!: 'function';
  @NameField('function', 'get_weather') name!: string;
  @TextField({ nullable: true, description: 'What the function does.' }) description?: string | null;
  @FreeObjectField({ nullable: true, description: 'JSON schema of the arguments.' }) parameters?: object | null;
  @BooleanField({ nullable: true, description: 'Arguments follow the schema exactly.' }) strict?: boolean | null;
}

/** The same, nested as in chat completions. */
export class ResponsesNestedFunctionTool {
  @TypeField('function', 'tool', 'function') type!: 'function';
  @ObjectField(ChatFunction, { required: true, description: 'The function.' }) function!: ChatFunction;
}

/** A tool of the client whose input is free text instead of arguments. */
export class ResponsesCustomTool {
  @TypeField('custom', 'tool', 'custom') type!: 'custom';
  @NameField('tool', 'apply_patch') name!: string;
  @TextField({ nullable: true, description: 'What the tool does.' }) description?: string | null;

  @FreeObjectField({
    nullable: true,
    description:
      'Format of the input: `text`, or a `grammar` in the `syntax` `regex` or `lark`, which the input follows.',
  })
  format?: { type?: unknown; syntax?: unknown; definition?: unknown } | null;
}

/** Tools that a service runs; a request with one that this service lacks is refused. */
export const serverToolTypes = [
  'web_search',
  'x_search',
  'code_interpreter',
  'file_search',
  'computer_use_preview',
] as const;

export class ResponsesServerTool {
  @ChoiceField(serverToolTypes, { required: true, description: 'Which tool.', example: 'web_search' })
  type!: (typeof serverToolTypes)[number];

  @BooleanField({
    description: 'False: only an index that the service has. There is none, so such a `web_search` is skipped.',
  })
  external_web_access?: boolean;

  @HandlesField('Of `x_search`: only posts of these accounts.') allowed_x_handles?: string[] | null;
  @HandlesField('Of `x_search`: no posts of these accounts.') excluded_x_handles?: string[] | null;
  @DayField('Of `x_search`: first day of the posts.') from_date?: string | null;
  @DayField('Of `x_search`: last day of the posts.') to_date?: string | null;
}

/** A tool of any other type; it is skipped, which `warnings` of the response says. */
export class ResponsesOtherTool {
  @TextField({ required: true, description: 'Type of the tool.', example: 'local_shell' }) type!: string;
}

/** A tool in a namespace. */
export type ResponsesMemberTool =
  ResponsesFunctionTool | ResponsesNestedFunctionTool | ResponsesCustomTool | ResponsesOtherTool;

/** Tools of one origin, such as a server of tools; calls name it beside the tool. */
export class ResponsesNamespaceTool {
  @TypeField('namespace', 'tool', 'namespace') type!: 'namespace';

  @TextField({ required: true, minLength: 1, description: 'Name of the namespace.', example: 'calendar' })
  name!: string;

  @TextField({ nullable: true, description: 'What the tools are for.' }) description?: string | null;

  @ObjectListField(
    memberToolOf,
    [ResponsesFunctionTool, ResponsesNestedFunctionTool, ResponsesCustomTool, ResponsesOtherTool],
    { required: true, maxItems: 256, description: 'Functions and custom tools.' },
  )
  tools!: ResponsesMemberTool[];
}

export type ResponsesTool = ResponsesMemberTool | ResponsesNamespaceTool | ResponsesServerTool;

export const responsesToolClasses = [
  ResponsesFunctionTool,
  ResponsesNestedFunctionTool,
  ResponsesCustomTool,
  ResponsesNamespaceTool,
  ResponsesServerTool,
  ResponsesOtherTool,
];

export function isServerTool(tool: ResponsesTool): tool is ResponsesServerTool {
  return serverToolTypes.some((known) => known === tool.type);
}

export function isFunctionTool(tool: ResponsesTool): tool is ResponsesFunctionTool | ResponsesNestedFunctionTool {
  return tool.type === 'function';
}

export function isCustomTool(tool: ResponsesTool): tool is ResponsesCustomTool {
  return tool.type === 'custom';
}

export function isNamespaceTool(tool: ResponsesTool): tool is ResponsesNamespaceTool {
  return tool.type === 'namespace';
}

function memberToolOf({ type, function: nested = null }: Record<string, unknown>) {
  if (type === 'function') return nested === null ? ResponsesFunctionTool : ResponsesNestedFunctionTool;
  return type === 'custom' ? ResponsesCustomTool : ResponsesOtherTool;
}

/** The class of a tool, by its type. */
export const responsesToolOf: NestedClass = (tool) => {
  if (tool.type === 'namespace') return ResponsesNamespaceTool;
  return serverToolTypes.some((known) => known === tool.type) ? ResponsesServerTool : memberToolOf(tool);
};

const modes = ['auto', 'none', 'required'];

const text = { type: 'string' };

/** The schema of an object that names its type. */
function typedSchema(type: string, properties: object, required: string[]) {
  const members = { type: { type: 'string', enum: [type] }, ...properties };
  return { type: 'object', properties: members, required: ['type', ...required] };
}

const functionName = { type: 'object', properties: { name: text }, required: ['name'] };
const allowedMode = { type: 'string', enum: ['auto', 'required'] };
const allowedTools = { type: 'array', items: { type: 'object' } };

export const responsesToolChoiceSchema = {
  anyOf: [
    ...modes.map((mode) => ({ type: 'string', enum: [mode] })),
    typedSchema('function', { name: text, namespace: text, function: functionName }, []),
    typedSchema('custom', { name: text, namespace: text }, ['name']),
    typedSchema('allowed_tools', { mode: allowedMode, tools: allowedTools }, ['mode', 'tools']),
  ],
};

/** The function or custom tool that a tool choice, or an allowed tool, names; null if it names none. */
export function chosenToolOf(value: unknown): { name: string; namespace?: string } | null {
  if (!isObject(value) || (value.type !== 'function' && value.type !== 'custom')) return null;
  const { name } = isObject(value.function) ? value.function : value;
  const { namespace } = value;
  if (typeof name !== 'string') return null;
  return { name, ...(typeof namespace === 'string' && { namespace }) };
}

export function responsesToolChoiceProblem(value: unknown): string | null {
  if (typeof value === 'string' && modes.includes(value)) return null;
  if (chosenToolOf(value) !== null) return null;
  if (!isObject(value) || value.type !== 'allowed_tools') {
    return 'must be auto, none, required, {type: "function", name}, or {type: "allowed_tools", mode, tools}';
  }
  if (value.mode !== 'auto' && value.mode !== 'required') return 'must have a mode of auto or required';
  const { tools } = value;
  if (!Array.isArray(tools) || tools.length === 0) return 'must have an array tools with at least one tool';
  return tools.every((tool) => chosenToolOf(tool) !== null) ? null : 'must have functions or custom tools as its tools';
}
