import type { TextPart } from '../contract/output-region.js';
import type { ToolDefinition } from '../contract/tool-use.js';
import type { CallText, Reading } from './call-text.js';
import { listArguments, type ToolArgument } from './tool-arguments.js';
import { choice, isRecord, literal, maxCalls, sequence, type ToolStyle } from './tool-style.js';

const comma = literal(', ');

/**
 * `[name(key="value", other=1), …]` as the whole response, as Llama 3.2 and 4 write calls. Values are Python literals:
 * any JSON, and where a schema is simple, `True`, `None` and strings in single quotes.
 */
export const llamaPythonicStyle: ToolStyle = {
  name: 'llama-pythonic',
  isIn: (template) => /\[func_name1\(/.test(template),
  marks: [],
  openings: (tools) => tools.map((tool) => ({ text: `[${tool.name}(`, atStart: true, calls: closing(tool) })),
  rest: (tools, isParallel) => {
    if (!isParallel) return literal(']');
    const any = choice(tools.map((tool) => sequence(literal(`${tool.name}(`), closing(tool))));
    return sequence({ type: 'repeat', part: sequence(comma, any), min: 0, max: maxCalls - 1 }, literal(']'));
  },
  *read(text, tools) {
    const openings = tools.map(({ name }) => ({ text: `[${name}(`, atStart: true }));
    const first = tools[yield* text.opening(openings)];
    for (let called: string | null = first?.name ?? null; called !== null;) {
      text.begin(called);
      if (!(yield* readArguments(text))) return;
      if (!(yield* text.skip(','))) break;
      called = (yield* text.upTo('('))?.trim() ?? null;
    }
    yield* text.skip(']');
  },
  write: (calls) => {
    const written = calls.map(({ name, arguments: text }) => {
      const values = Object.entries(JSON.parse(text) as object);
      return `${name}(${values.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(', ')})`;
    });
    return `[${written.join(', ')}]`;
  },
};

/** The arguments and the closing parenthesis; required ones first. */
function closing(tool: ToolDefinition): TextPart {
  const all = listArguments(tool);
  const required = all.filter(({ isRequired }) => isRequired).map(assigned);
  const optional = all.filter(({ isRequired }) => !isRequired).map(assigned);
  const further = (parts: TextPart[]): TextPart[] =>
    parts.map((part) => ({ type: 'repeat', part: sequence(comma, part), min: 0, max: 1 }));
  const [first, ...rest] = required;
  if (first !== undefined) {
    const others = rest.map((part) => sequence(comma, part));
    return sequence(first, ...others, ...further(optional), literal(')'));
  }
  const begun = optional.map((part, index) => sequence(part, ...further(optional.slice(index + 1))));
  return sequence(choice([literal(''), ...begun]), literal(')'));
}

function assigned(argument: ToolArgument): TextPart {
  return sequence(literal(`${argument.name}=`), choice([argument.value, ...pythonForms(argument)]));
}

/** What Python writes in another way than JSON. */
function pythonForms({ value, texts }: ToolArgument): TextPart[] {
  if (texts === null) return [{ type: 'regex', pattern: String.raw`'[^'\\\u0000-\u001f]*'` }];
  if (texts !== undefined) return texts.filter((text) => /^[^'\\]*$/.test(text)).map((text) => literal(`'${text}'`));
  const schema = value.type === 'json-schema' && isRecord(value.schema) ? value.schema : {};
  const forms = schema.enum === undefined && schema.const === undefined ? listTypes(schema) : [];
  return [
    ...(forms.includes('boolean') ? [literal('True'), literal('False')] : []),
    ...(forms.includes('null') ? [literal('None')] : []),
  ];
}

/** The types that a schema allows without further conditions. */
function listTypes({ type, anyOf }: Record<string, unknown>): unknown[] {
  if (type !== undefined) return anyOf === undefined ? [type].flat() : [];
  return Array.isArray(anyOf) ? anyOf.filter(isBare).map((variant) => variant.type) : [];
}

function isBare(variant: unknown): variant is { type: unknown } {
  return (
    isRecord(variant) && Object.keys(variant).every((keyword) => ['type', 'title', 'description'].includes(keyword))
  );
}

function* readArguments(text: CallText): Reading<boolean> {
  text.arguments('{');
  for (let separator = ''; !(yield* text.skip(')')); separator = ', ') {
    if (separator !== '' && !(yield* text.skip(','))) return false;
    const key = yield* text.upTo('=');
    if (key === null) return false;
    text.arguments(`${separator}${JSON.stringify(key.trim())}: `);
    if (!(yield* text.pythonValue())) return false;
  }
  text.arguments('}');
  return true;
}
