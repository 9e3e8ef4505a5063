import type { OutputRegion, TextPart } from '../contract/output-region.js';
import type { ToolCall, ToolDefinition, ToolStyleName, ToolUse } from '../contract/tool-use.js';
import type { CallText, Opening, Reading } from './call-text.js';

/** A text of free content that leads into calls. */
export interface CallEntry extends Opening {
  /** The beginning of the calls that it stands for. */
  entered: string;
}

/** How a response goes over from content to calls. */
export interface CallOpening extends Opening {
  /** The calls behind it, up to the end of the last one. */
  calls: TextPart;
  /** Only read, never asked for where a call is required. */
  isRare?: boolean;
  /** Calls in another form, from their beginning, that are never asked for. Only `entries` lead to them. */
  otherCalls?: TextPart;
  /** What leads from free content to the calls, with the opening, and to the others. Absent: the opening. */
  entries?: readonly CallEntry[];
}

/** A form in which models write calls. */
export interface ToolStyle {
  readonly name: ToolStyleName;
  /** Whether the source of a chat template speaks of it. */
  isIn(template: string): boolean;
  /** Texts that vocabularies hold as special tokens, to be kept in the output. */
  readonly marks: readonly string[];
  /** Whether a template takes only one call in a message. */
  readonly isSingle?: boolean;
  /** Id of a call as its templates take it; absent: any. */
  idFor?(id: string): string;
  /** The tools are those that may be called. */
  openings(tools: readonly ToolDefinition[], isParallel: boolean): CallOpening[];
  /** What follows behind the calls of every opening; absent: nothing. */
  rest?(tools: readonly ToolDefinition[], isParallel: boolean): TextPart;
  read(text: CallText, tools: readonly ToolDefinition[]): Reading;
  /** The calls as the model would write them. */
  write(calls: readonly ToolCall[], tools: readonly ToolDefinition[]): string;
}

/** Most calls of one response. */
export const maxCalls = 64;

export function literal(text: string): TextPart {
  return { type: 'literal', text };
}

export function sequence(...parts: TextPart[]): TextPart {
  return { type: 'sequence', parts };
}

export function choice(parts: TextPart[]): TextPart {
  return { type: 'choice', parts };
}

export const space: TextPart = { type: 'space' };

/** Of JSON behind a colon: as what the grammars of schemas allow there. */
const blank: TextPart = { type: 'regex', pattern: ' ?' };

/** White space before a response: what models write behind their reasoning. */
const leading: TextPart = { type: 'regex', pattern: '[ \\t\\r\\n]{0,4}' };

/** One call, and where several are allowed, more with `between` before each. */
export function callList(call: TextPart, between: TextPart, isParallel: boolean): TextPart {
  if (!isParallel) return call;
  return sequence(call, { type: 'repeat', part: sequence(between, call), min: 0, max: maxCalls - 1 });
}

/** The tools of a request that the response may call. */
export function callableTools({ tools, allowed }: Pick<ToolUse, 'tools' | 'allowed'>): ToolDefinition[] {
  return allowed === undefined ? tools : tools.filter(({ name }) => allowed.includes(name));
}

/**
 * The texts of a response with tools: content up to a call, which must be exact; or a call at once where one is
 * required. `other` is what the response may be instead of a call; absent: any text.
 */
export function toolRegions(style: ToolStyle, use: ToolUse, other: TextPart | null): OutputRegion[] {
  const { isRequired } = use;
  const isParallel = use.isParallel && style.isSingle !== true;
  const callable = callableTools(use);
  const openings = style.openings(callable, isParallel);
  const rest = style.rest?.(callable, isParallel);
  const regions =
    isRequired || other !== null ? [callAtOnce(openings, isRequired ? null : other)] : [...callsAnywhere(openings)];
  if (rest === undefined) return regions;
  const behind: OutputRegion = { type: 'bound', branches: [{ text: rest, next: null }] };
  return [...regions.map((region) => leadingTo(region, other, regions.length)), behind];
}

function* callsAnywhere(openings: readonly CallOpening[]): Generator<OutputRegion> {
  const exits = openings.flatMap(({ text, atStart, entries = [{ text, atStart, entered: '' }] }, index) =>
    entries.map((entry) => ({ text: entry.text, atStart: entry.atStart, entered: entry.entered, next: index + 1 })),
  );
  yield { type: 'free', exits, mayEnd: true };
  for (const opening of openings) yield { type: 'bound', branches: [{ text: enteredCalls(opening), next: null }] };
}

/** All calls in one text: schemas that several forms of a call share are then compiled once. */
function enteredCalls({ text, calls, entries, otherCalls }: CallOpening): TextPart {
  if (entries === undefined) return calls;
  return choice([sequence(literal(text), calls), ...(otherCalls === undefined ? [] : [otherCalls])]);
}

function callAtOnce(openings: readonly CallOpening[], other: TextPart | null): OutputRegion {
  const common = openings.filter(({ isRare = false }) => !isRare);
  const calls = sequence(leading, choice(common.map(({ text, calls: behind }) => sequence(literal(text), behind))));
  const branches = [{ text: calls, next: null }];
  return { type: 'bound', branches: other === null ? branches : [...branches, { text: other, next: null }] };
}

/** The region with `next` behind its calls. */
function leadingTo(region: OutputRegion, other: TextPart | null, next: number): OutputRegion {
  if (region.type === 'free') return region;
  return { ...region, branches: region.branches.map(({ text }) => ({ text, next: text === other ? null : next })) };
}

/** A JSON object with the name of a tool and, in `key`, its arguments; read up to the name by `before`. */
export function jsonCall(tools: readonly ToolDefinition[], key: string, before = '{"name": "'): TextPart {
  const one = (tool: ToolDefinition) => sequence(literal(`${tool.name}", "${key}": `), argumentsOf(tool), literal('}'));
  return sequence(literal(before), choice(tools.map(one)));
}

const knownArguments = new WeakMap<ToolDefinition, TextPart>();

/** One object for each tool: its schema is compiled, and counted, once for all forms of its calls. */
export function argumentsOf(tool: ToolDefinition): TextPart {
  const known = knownArguments.get(tool) ?? argumentsPart(tool);
  knownArguments.set(tool, known);
  return known;
}

function argumentsPart(tool: ToolDefinition): TextPart {
  const { parameters, param, isStrict, textFormat: format } = tool;
  if (format !== undefined) {
    const text: TextPart = { type: 'json-string', format, param };
    return sequence(literal(`{${JSON.stringify(format.argument)}:`), blank, text, literal('}'));
  }
  return { type: 'json-schema', schema: objectSchema(parameters), param, isStrict };
}

export function writeJsonCall({ name, arguments: text }: ToolCall, key: string): string {
  return `{"name": ${JSON.stringify(name)}, "${key}": ${text}}`;
}

/** Reads what `jsonCall` describes, behind its opening brace and, if `isInName`, behind the key of the name. */
export function* readJsonCall(text: CallText, key: string, isInName = false): Reading<boolean> {
  let name = isInName ? 'name' : yield* text.string();
  for (;;) {
    if (name === null || !(yield* text.skip(':'))) return false;
    if (name === 'name') {
      const called = yield* text.string();
      if (called === null) return false;
      text.begin(called);
    } else if (!(yield* text.value(name === key ? undefined : () => undefined))) return false;
    if (yield* text.skip('}')) return true;
    if (!(yield* text.skip(','))) return false;
    name = yield* text.string();
  }
}

const combining = [
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'patternProperties',
  'additionalProperties',
  'minProperties',
  'dependentSchemas',
  'dependencies',
];

/**
 * The schema of arguments, which are an object. Where it does not say whether further members are allowed, they are not offered:
 * models would invent them, and without parameters there would be nothing else to write.
 */
export function objectSchema(parameters: object): object {
  const schema = parameters as Record<string, unknown>;
  return closed({ ...schema, type: 'object' });
}

function closed(schema: Record<string, unknown>): Record<string, unknown> {
  const result = { ...schema };
  if (isRecord(schema.properties)) {
    const members = Object.entries(schema.properties).map(([name, member]) => [name, closedMember(member)]);
    result.properties = Object.fromEntries(members);
  }
  if (isRecord(schema.items)) result.items = closedMember(schema.items);
  const isOpen = combining.every((keyword) => schema[keyword] === undefined);
  return isOpen && schema.type === 'object' ? { ...result, additionalProperties: false } : result;
}

function closedMember(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  // An object without declared members is any object.
  return schema.type === 'object' && schema.properties === undefined ? schema : closed(schema);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
