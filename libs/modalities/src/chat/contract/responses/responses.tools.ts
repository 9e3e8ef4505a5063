import { BooleanField, ChoiceField, FreeObjectField, ObjectField, TextField } from '#platform/http';
import { type NestedClass } from '#platform/validation';
import { ChatFunction, DayField, HandlesField } from '../chat.tools.js';

/* Tools of the Responses wire format. */

/** A function that the client runs, as the OpenAI reference has it. */
export class ResponsesFunctionTool {
  @ChoiceField(['function'], { required: true, description: 'Type of the tool.', example: 'function' })
  type!: 'function';

  @TextField({ required: true, description: 'Name of the function.', example: 'get_weather' })
  name!: string;

  @TextField({ nullable: true, description: 'What the function does.' })
  description?: string | null;

  @FreeObjectField({ nullable: true, description: 'JSON schema of the arguments.' })
  parameters?: object | null;

  @BooleanField({ nullable: true, description: 'Arguments follow the schema exactly.' })
  strict?: boolean | null;
}

/** The same, nested as in chat completions. */
export class ResponsesNestedFunctionTool {
  @ChoiceField(['function'], { required: true, description: 'Type of the tool.', example: 'function' })
  type!: 'function';

  @ObjectField(ChatFunction, { required: true, description: 'The function.' })
  function!: ChatFunction;
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

  @HandlesField('Of `x_search`: only posts of these accounts.')
  allowed_x_handles?: string[] | null;

  @HandlesField('Of `x_search`: no posts of these accounts.')
  excluded_x_handles?: string[] | null;

  @DayField('Of `x_search`: first day of the posts.')
  from_date?: string | null;

  @DayField('Of `x_search`: last day of the posts.')
  to_date?: string | null;
}

/** A tool of any other type; it is skipped, which `warnings` of the response says. */
export class ResponsesOtherTool {
  @TextField({ required: true, description: 'Type of the tool.', example: 'local_shell' })
  type!: string;
}

export type ResponsesTool =
  ResponsesFunctionTool | ResponsesNestedFunctionTool | ResponsesServerTool | ResponsesOtherTool;

export const responsesToolClasses = [
  ResponsesFunctionTool,
  ResponsesNestedFunctionTool,
  ResponsesServerTool,
  ResponsesOtherTool,
];

export function isServerTool(tool: ResponsesTool): tool is ResponsesServerTool {
  return serverToolTypes.some((known) => known === tool.type);
}

export function isFunctionTool(tool: ResponsesTool): tool is ResponsesFunctionTool | ResponsesNestedFunctionTool {
  return tool.type === 'function';
}

/** The class of a tool, by its type. */
export const responsesToolOf: NestedClass = ({ type, function: nested = null }) => {
  if (type === 'function') return nested === null ? ResponsesFunctionTool : ResponsesNestedFunctionTool;
  return serverToolTypes.some((known) => known === type) ? ResponsesServerTool : ResponsesOtherTool;
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const modes = ['auto', 'none', 'required'];

export const responsesToolChoiceSchema = {
  anyOf: [
    ...modes.map((mode) => ({ type: 'string', enum: [mode] })),
    {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['function'] },
        name: { type: 'string' },
        function: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
      required: ['type'],
    },
    {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['allowed_tools'] },
        mode: { type: 'string', enum: ['auto', 'required'] },
        tools: { type: 'array', items: { type: 'object' } },
      },
      required: ['type', 'mode', 'tools'],
    },
  ],
};

/** Name of the function that a tool choice, or an allowed tool, names; null if it names none. */
export function functionNameOf(value: unknown): string | null {
  if (!isObject(value) || value.type !== 'function') return null;
  const named = isObject(value.function) ? value.function.name : value.name;
  return typeof named === 'string' ? named : null;
}

export function responsesToolChoiceProblem(value: unknown): string | null {
  if (typeof value === 'string' && modes.includes(value)) return null;
  if (functionNameOf(value) !== null) return null;
  if (!isObject(value) || value.type !== 'allowed_tools') {
    return 'must be auto, none, required, {type: "function", name}, or {type: "allowed_tools", mode, tools}';
  }
  if (value.mode !== 'auto' && value.mode !== 'required') return 'must have a mode of auto or required';
  const { tools } = value;
  if (!Array.isArray(tools) || tools.length === 0) return 'must have an array tools with at least one tool';
  return tools.every((tool) => functionNameOf(tool) !== null) ? null : 'must have functions as its tools';
}
