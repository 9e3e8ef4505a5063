import { invalidField } from '#gateway';
import type { ChatJobTextFormat, ChatJobTool } from '../contract/chat.job.js';
import { textFormatKey } from '../contract/chat.tools.js';

const maxDescriptionLength = 100_000;

/** A tool with the field that names it. */
export interface GivenTool {
  tool: ChatJobTool;
  nameField: string;
}

export interface GivenTools {
  tools: GivenTool[];
  choice: unknown;
  choiceField: string;
}

/** A function as either form of tools gives it. */
export function toolOf(
  given: {
    name: string;
    description?: string | null;
    parameters?: object | null;
    strict?: boolean | null;
    [textFormatKey]?: ChatJobTextFormat;
  },
  place: string,
): GivenTool {
  const { name, description, parameters, strict, [textFormatKey]: textFormat } = given;
  const param = `${place}.${textFormat ? 'textFormat.definition' : 'parameters'}`;
  checkParameters(parameters ?? {}, param);
  if ((description?.length ?? 0) > maxDescriptionLength) {
    const text = `${place}.description must not be longer than ${maxDescriptionLength} characters.`;
    throw invalidField(text, `${place}.description`, 'too_big');
  }
  const tool: ChatJobTool = {
    name,
    ...(typeof description === 'string' ? { description } : {}),
    parameters: parameters ?? {},
    strict: strict === true,
    param,
    ...(textFormat && { textFormat }),
  };
  return { tool, nameField: `${place}.name` };
}

/** Arguments are an object; the worker checks the rest of the schema. */
function checkParameters(parameters: object, param: string): void {
  const { type } = parameters as { type?: unknown };
  const isObject = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (Array.isArray(parameters) || !isObject) {
    throw invalidField(`${param} must be the schema of an object; see #/type.`, param);
  }
}
