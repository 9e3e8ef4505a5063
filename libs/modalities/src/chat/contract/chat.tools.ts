import { isObject } from '#common/values';
import { BooleanField, CheckedField, ChoiceField, FreeObjectField, ObjectField, TextField } from '#platform/http';
import { type NestedClass } from '#platform/validation';

/* Tools and response formats of the OpenAI format. */

const toolName = /^[A-Za-z0-9_-]{1,64}$/;

/** What is wrong with the name of a tool; null if nothing is. */
export function toolNameProblem(value: unknown): string | null {
  return typeof value === 'string' && toolName.test(value) ? null : 'must be 1 to 64 of A-Z, a-z, 0-9, _ and -';
}

const ToolNameField = (options: { description: string; example: string }): PropertyDecorator =>
  CheckedField({ name: 'isToolName', required: true, schema: { type: 'string' }, check: toolNameProblem, ...options });

export class ChatFunction {
  @ToolNameField({ description: 'Name of the function.', example: 'get_weather' })
  name!: string;

  @TextField({ description: 'What the function does.' })
  description?: string;

  @FreeObjectField({ description: 'JSON schema of the arguments, an object; absent: no arguments.' })
  parameters?: object;

  @BooleanField({
    default: false,
    description: 'Refuse keywords of the schema that cannot be followed; otherwise they are left out.',
  })
  strict?: boolean;
}

/** A function that the client runs. */
export class ChatFunctionTool {
  @TextField({ description: '`function`.', example: 'function' })
  type?: string;

  @TextField({ description: 'Id of the tool.' })
  id?: string;

  @ObjectField(ChatFunction, { required: true, description: 'The function.' })
  function!: ChatFunction;
}

export class ChatCustomGrammar {
  @ChoiceField(['lark', 'regex'], { required: true, description: 'Language of the definition.', example: 'regex' })
  syntax!: 'lark' | 'regex';

  @TextField({ required: true, minLength: 1, description: 'The grammar or pattern.', example: '[a-z]{3}' })
  definition!: string;
}

export class ChatCustomFormat {
  @ChoiceField(['text', 'grammar'], { required: true, description: '`text`: any text.', example: 'grammar' })
  type!: 'text' | 'grammar';

  @ObjectField(ChatCustomGrammar, { description: 'Of `grammar`: what the input follows.' })
  grammar?: ChatCustomGrammar;
}

export class ChatCustom {
  @ToolNameField({ description: 'Name of the tool.', example: 'apply_patch' })
  name!: string;

  @TextField({ description: 'What the tool does.' })
  description?: string;

  @ObjectField(ChatCustomFormat, { description: 'Format of the input; absent: any text.' })
  format?: ChatCustomFormat;
}

/** A tool of the client whose input is free text instead of arguments. */
export class ChatCustomTool {
  @ChoiceField(['custom'], { required: true, description: 'Type of the tool.', example: 'custom' })
  type!: 'custom';

  @ObjectField(ChatCustom, { required: true, description: 'The tool.' })
  custom!: ChatCustom;
}

const serverTools = ['web_search', 'x_search'] as const;

const maxHandles = 10;

function handlesProblem(value: unknown): string | null {
  const isList = Array.isArray(value) && value.length <= maxHandles;
  const areHandles = isList && value.every((handle) => typeof handle === 'string' && /^@?\w{1,15}$/.test(handle));
  return areHandles ? null : `must hold up to ${maxHandles} handles of A-Z, a-z, 0-9 and _`;
}

function dayProblem(value: unknown): string | null {
  const isDay = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value));
  return isDay ? null : 'must be a date such as 2026-01-31';
}

export const HandlesField = (description: string): PropertyDecorator =>
  CheckedField({
    name: 'isHandles',
    nullable: true,
    description,
    schema: { type: 'array', items: { type: 'string' }, maxItems: maxHandles },
    check: handlesProblem,
  });

export const DayField = (description: string): PropertyDecorator =>
  CheckedField({ name: 'isDay', nullable: true, description, schema: { type: 'string' }, check: dayProblem });

/** A tool that this service runs. */
export class ChatServerTool {
  @ChoiceField(serverTools, { required: true, description: 'Which tool.', example: 'web_search' })
  type!: (typeof serverTools)[number];

  @HandlesField('Of `x_search`: only posts of these accounts.')
  allowed_x_handles?: string[] | null;

  @HandlesField('Of `x_search`: no posts of these accounts.')
  excluded_x_handles?: string[] | null;

  @DayField('Of `x_search`: first day of the posts.')
  from_date?: string | null;

  @DayField('Of `x_search`: last day of the posts.')
  to_date?: string | null;
}

/** A tool that the client runs. */
export type ChatClientTool = ChatFunctionTool | ChatCustomTool;

export type ChatTool = ChatClientTool | ChatServerTool;

export const chatToolClasses = [ChatServerTool, ChatCustomTool, ChatFunctionTool];

/** The class of a tool, by its type. */
export const chatToolOf: NestedClass = ({ type }) => {
  if (type === 'custom') return ChatCustomTool;
  return serverTools.some((known) => known === type) ? ChatServerTool : ChatFunctionTool;
};

export const chatToolChoiceSchema = {
  anyOf: [
    {
      type: 'object',
      properties: {
        type: { type: 'string' },
        function: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
      required: ['function', 'type'],
    },
    {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['custom'] },
        custom: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
      required: ['custom', 'type'],
    },
    { type: 'string' },
  ],
};

export function chatToolChoiceProblem(value: unknown): string | null {
  if (value === 'auto' || value === 'none' || value === 'required') return null;
  if (isObject(value) && value.type === 'allowed_tools') return allowedToolsProblem(value.allowed_tools);
  if (chosenNameOf(value) !== null) return null;
  const forms = ['auto', 'none', 'required', ...chosenForms, '{type: "allowed_tools", allowed_tools}'];
  return `must be one of: ${forms.join(', ')}`;
}

const chosenForms = ['{type: "function", function: {name}}', '{type: "custom", custom: {name}}'];

/** The tool that a tool choice, or one of the allowed tools, names; null if it names none. */
export function chosenNameOf(value: unknown): string | null {
  if (!isObject(value) || (value.type !== 'function' && value.type !== 'custom')) return null;
  const chosen = value[value.type];
  return isObject(chosen) && typeof chosen.name === 'string' ? chosen.name : null;
}

function allowedToolsProblem(value: unknown): string | null {
  if (!isObject(value)) return 'must have an object allowed_tools';
  if (value.mode !== 'auto' && value.mode !== 'required') return 'must have an allowed_tools.mode of auto or required';
  const { tools } = value;
  const isList =
    Array.isArray(tools) &&
    tools.length > 0 &&
    tools.length <= 128 &&
    tools.every((tool) => chosenNameOf(tool) !== null);
  return isList ? null : `must have allowed_tools.tools: 1 to 128 of ${chosenForms.join(' or ')}`;
}

function formatVariant(type: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: 'object',
    properties: { type: { type: 'string', enum: [type] }, ...more },
    required: [...Object.keys(more), 'type'],
    additionalProperties: false,
  };
}

function withOptional(variant: Record<string, unknown>, more: Record<string, unknown>): Record<string, unknown> {
  return { ...variant, properties: { ...(variant.properties as object), ...more } };
}

export const responseFormatSchema = {
  oneOf: [
    formatVariant('json_schema', { json_schema: { type: 'object', additionalProperties: { nullable: true } } }),
    withOptional(formatVariant('json_object'), {
      schema: { type: 'object', additionalProperties: { nullable: true } },
    }),
    formatVariant('text'),
    formatVariant('regex', { pattern: { type: 'string' } }),
    formatVariant('grammar', { grammar: { type: 'string' } }),
  ],
};

export function responseFormatProblem(value: unknown): string | null {
  const type = isObject(value) ? value.type : undefined;
  if (type === 'text') return null;
  if (type === 'json_object') {
    const { schema } = value as Record<string, unknown>;
    return schema === undefined || schema === null || isObject(schema) ? null : 'must have an object schema';
  }
  if (type === 'regex' || type === 'grammar') return textFormatProblem(value as Record<string, unknown>, type);
  if (type !== 'json_schema') return 'must have a type of text, json_object, json_schema, regex or grammar';
  const format = (value as Record<string, unknown>).json_schema;
  if (!isObject(format)) return 'must have an object json_schema';
  const { schema } = format;
  return schema === undefined || schema === null || isObject(schema) ? null : 'must have an object json_schema.schema';
}

const maxFormatLength = { pattern: 4_000, grammar: 100_000 };

function textFormatProblem(format: Record<string, unknown>, type: 'regex' | 'grammar'): string | null {
  const name = type === 'regex' ? 'pattern' : 'grammar';
  const text = format[name];
  if (typeof text !== 'string' || text === '') return `must have a text ${name}`;
  const max = maxFormatLength[name];
  return text.length > max ? `must have a ${name} of at most ${max} characters` : null;
}
