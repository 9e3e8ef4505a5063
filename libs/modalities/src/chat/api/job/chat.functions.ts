import { isObject } from '#common/values';
import { invalidField } from '#gateway';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import { toolNameProblem } from '../../contract/chat.tools.js';
import { type ToolDefinition, type ToolDefinitions, toolOf } from './chat.tool-definitions.js';

/* `functions` and `function_call`, which OpenAI deprecated in favor of `tools` and `tool_choice`. */

const maxFunctions = 128;

interface DeprecatedMembers {
  functions?: unknown;
  function_call?: unknown;
}

/** The functions of a request as tools; null where it has none. Throws `INVALID_REQUEST` naming the field. */
export function functionsOf(request: ChatCompletionRequest): ToolDefinitions | null {
  const { functions, function_call: choice } = request as DeprecatedMembers;
  if (isAbsent(functions)) {
    if (isAbsent(choice)) return null;
    throw invalidField('function_call needs functions.', 'function_call');
  }
  const newer = (['tools', 'tool_choice'] as const).find((field) => !isAbsent(request[field]));
  if (newer !== undefined) throw invalidField(`functions and ${newer} exclude each other.`, 'functions');
  if (!Array.isArray(functions) || functions.length === 0) {
    throw invalidField('functions must be an array with at least one function.', 'functions');
  }
  if (functions.length > maxFunctions) {
    throw invalidField(`functions must have at most ${maxFunctions} items.`, 'functions', 'too_big');
  }
  const tools = functions.map((definition: unknown, index) => functionOf(definition, `functions[${index}]`));
  return { tools, choice: choiceOf(choice), choiceField: 'function_call' };
}

function functionOf(definition: unknown, place: string): ToolDefinition {
  if (!isObject(definition)) throw invalidField(`${place} must be an object.`, place);
  const { name, description, parameters } = definition;
  const problem = toolNameProblem(name);
  if (problem !== null) throw invalidField(`${place}.name ${problem}.`, `${place}.name`);
  if (!isAbsent(description) && typeof description !== 'string') {
    throw invalidField(`${place}.description must be a string.`, `${place}.description`);
  }
  if (!isAbsent(parameters) && !isObject(parameters)) {
    throw invalidField(`${place}.parameters must be an object.`, `${place}.parameters`);
  }
  return toolOf({ name: name as string, description: description as string, parameters }, place);
}

function choiceOf(choice: unknown): unknown {
  if (isAbsent(choice) || choice === 'auto' || choice === 'none') return choice;
  if (isObject(choice) && typeof choice.name === 'string') return { type: 'function', function: { name: choice.name } };
  throw invalidField('function_call must be auto, none, or {name}.', 'function_call');
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}
