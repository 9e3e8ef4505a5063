import { invalidField } from '#gateway';
import type { ChatJobTool } from '../../contract/chat.job.js';
import type { ChatCustom } from '../../contract/chat.tools.js';
import { customFormat, customParameters } from './custom-input.js';

const maxDescriptionLength = 100_000;

/** A tool with the field that names it. */
export interface ToolDefinition {
  tool: ChatJobTool;
  nameField: string;
}

export interface ToolDefinitions {
  tools: ToolDefinition[];
  choice: unknown;
  choiceField: string;
}

/** A function as either form of tools defines it. */
export function toolOf(
  definition: {
    name: string;
    description?: string | null;
    parameters?: object | null;
    strict?: boolean | null;
  },
  place: string,
): ToolDefinition {
  const { name, description, parameters, strict } = definition;
  const param = `${place}.parameters`;
  checkParameters(parameters ?? {}, param);
  checkDescription(description, place);
  const tool: ChatJobTool = {
    name,
    ...(typeof description === 'string' ? { description } : {}),
    parameters: parameters ?? {},
    strict: strict === true,
    param,
  };
  return { tool, nameField: `${place}.name` };
}

/** A custom tool as the function of one text that stands for it. The prompt holds the format of the text. */
export function customToolOf({ name, description, format }: ChatCustom, place: string): ToolDefinition {
  checkDescription(description, place);
  const textFormat = customFormat(format, `${place}.format`);
  const param = textFormat === null ? place : `${place}.format.grammar.definition`;
  const texts = [description ?? '', textFormat === null ? '' : describeFormat(textFormat)].filter(
    (text) => text !== '',
  );
  const tool: ChatJobTool = {
    name,
    ...(texts.length === 0 ? {} : { description: texts.join('\n\n') }),
    parameters: customParameters,
    strict: false,
    param,
    ...(textFormat && { textFormat }),
  };
  return { tool, nameField: `${place}.name` };
}

function describeFormat({ syntax, definition }: { syntax: string; definition: string }): string {
  return `The input follows this ${syntax === 'lark' ? 'grammar (lark)' : 'pattern'}:\n${definition}`;
}

function checkDescription(description: string | null | undefined, place: string): void {
  if ((description?.length ?? 0) <= maxDescriptionLength) return;
  const text = `${place}.description must not be longer than ${maxDescriptionLength} characters.`;
  throw invalidField(text, `${place}.description`, 'too_big');
}

/** Arguments are an object; the worker checks the rest of the schema. */
function checkParameters(parameters: object, param: string): void {
  const { type } = parameters as { type?: unknown };
  const isObject = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (Array.isArray(parameters) || !isObject) {
    throw invalidField(`${param} must be the schema of an object; see #/type.`, param);
  }
}
