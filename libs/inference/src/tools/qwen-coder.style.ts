import type { TextPart } from '../contract/output-region.js';
import type { ToolCall, ToolDefinition } from '../contract/tool-use.js';
import type { CallText, Reading } from './call-text.js';
import { listArguments, type ToolArgument } from './tool-arguments.js';
import { callList, choice, literal, sequence, space, type ToolStyle } from './tool-style.js';

const open = '<tool_call>';
const close = '</tool_call>';
const valueEnd = '\n</parameter>';

/**
 * `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`, as Qwen 3 Coder writes calls.
 * Strings stand as they are, other values as JSON. A string cannot hold a line that begins with `</parameter>`.
 */
export const qwenCoderStyle: ToolStyle = {
  name: 'qwen-coder',
  isIn: (template) => template.includes(open) && template.includes('<function='),
  marks: [open, close],
  openings: (tools, isParallel) => {
    const body = sequence(space, choice(tools.map(functionPart)), space, literal(close));
    return [{ text: open, calls: callList(body, sequence(space, literal(open)), isParallel) }];
  },
  read: readCalls,
  write: (calls, tools) => calls.map((call) => writeCall(call, tools)).join('\n'),
};

function functionPart(tool: ToolDefinition): TextPart {
  const parameters = listArguments(tool).map((argument) => {
    const part = sequence(literal(`<parameter=${argument.name}>\n`), valuePart(argument), literal('\n'));
    return argument.isRequired ? part : ({ type: 'repeat', part, min: 0, max: 1 } as const);
  });
  return sequence(literal(`<function=${tool.name}>\n`), ...parameters, literal('</function>'));
}

function valuePart({ texts, value }: ToolArgument): TextPart {
  if (texts === null) return { type: 'up-to', text: valueEnd };
  if (texts === undefined) return sequence(value, literal(valueEnd));
  return sequence(choice(texts.map(literal)), literal(valueEnd));
}

function* readCalls(text: CallText, tools: readonly ToolDefinition[]): Reading {
  while ((yield* text.opening([{ text: open }])) >= 0) {
    if (!(yield* text.skip('<function='))) return;
    const name = yield* text.upTo('>');
    if (name === null) return;
    text.begin(name);
    text.arguments('{');
    if (!(yield* readParameters(text, argumentsByName(tools, name)))) return;
    text.arguments('}');
    if (!(yield* text.skip(close))) return;
  }
}

function* readParameters(text: CallText, known: ReadonlyMap<string, ToolArgument>): Reading<boolean> {
  for (let separator = ''; !(yield* text.skip('</function>')); separator = ', ') {
    if (!(yield* text.skip('<parameter='))) return false;
    const key = yield* text.upTo('>\n');
    if (key === null) return false;
    text.arguments(`${separator}${JSON.stringify(key)}: `);
    if (known.get(key)?.texts === undefined) {
      if (!(yield* text.value()) || !(yield* text.skip(valueEnd.trim()))) return false;
      continue;
    }
    text.arguments('"');
    if (!(yield* text.quotedUpTo(valueEnd))) return false;
    text.arguments('"');
  }
  return true;
}

function argumentsByName(tools: readonly ToolDefinition[], name: string): Map<string, ToolArgument> {
  const tool = tools.find((known) => known.name === name);
  return new Map((tool === undefined ? [] : listArguments(tool)).map((argument) => [argument.name, argument]));
}

function writeCall({ name, arguments: text }: ToolCall, tools: readonly ToolDefinition[]): string {
  const known = argumentsByName(tools, name);
  const parameters = Object.entries(JSON.parse(text) as object).map(([key, value]: [string, unknown]) => {
    const isText = typeof value === 'string' && (known.get(key)?.texts !== undefined || !known.has(key));
    return `<parameter=${key}>\n${isText ? value : JSON.stringify(value)}${valueEnd}\n`;
  });
  return `${open}\n<function=${name}>\n${parameters.join('')}</function>\n${close}`;
}
