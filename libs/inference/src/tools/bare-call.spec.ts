import { describe, expect, it } from 'vitest';
import { ConstraintCompiler } from '../constraints/constraint-compiler.js';
import { buildTokenTrie } from '../constraints/token-trie.js';
import type { ToolCallPiece, ToolDefinition, ToolUse } from '../contract/tool-use.js';
import { isAllowed } from '../sampling/token-constraint.js';
import { ToolCallReader } from './tool-call-reader.js';
import { callableTools, toolRegions } from './tool-style.js';
import { toolStyles } from './tool-styles.js';

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
};
const tools: ToolDefinition[] = [
  { name: 'weather', param: 'tools[0].function.parameters', parameters },
  { name: 'weather_now', param: 'tools[1].function.parameters', parameters: {} },
];
const free: ToolUse = { tools, isRequired: false, isParallel: true };

// The tests are not about time, which a busy machine takes more of.
const compiler = new ConstraintCompiler(
  buildTokenTrie([new Uint8Array(0), ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))], new Set([0])),
  { budgetMs: 60_000 },
);

type Style = 'hermes' | 'generic' | 'llama-json';

/** Whether a model may write the text, and end there. */
async function accepts(style: Style, text: string, use: ToolUse = free): Promise<boolean> {
  const regions = toolRegions(toolStyles[style], use, null);
  const matcher = (await compiler.compile({ type: 'regions', regions, param: 'tools' })).newMatcher([0]);
  for (const byte of new TextEncoder().encode(text)) {
    if (matcher.isFinished() || !isAllowed(matcher.allowed(), byte + 1)) return false;
    matcher.accept(byte + 1);
  }
  return matcher.isFinished() || matcher.allowed().endings.length > 0;
}

interface Read {
  content: string;
  calls: [name: string, text: string][];
}

function joined(pieces: readonly ToolCallPiece[]): Read {
  const read: Read = { content: '', calls: [] };
  for (const piece of pieces) {
    if (piece.type === 'content') read.content += piece.text;
    else if (piece.type === 'call') read.calls.push([piece.name, '']);
    else (read.calls.at(-1) ?? ['', ''])[1] += piece.text;
  }
  return read;
}

/** What is read of the text, whole and character by character, which must be the same. */
function read(style: Style, text: string, { use = free, hasFormat = false } = {}): Read {
  const [whole, streamed] = [[text], [...text]].map((parts) => {
    const callable = callableTools(use);
    const reader = new ToolCallReader((source) => toolStyles[style].read(source, callable), { hasFormat });
    return joined([...parts.flatMap((part) => reader.push(part)), ...reader.finish()]);
  });
  expect(streamed).toEqual(whole);
  return whole ?? { content: '', calls: [] };
}

const styles = [
  ['hermes', 'arguments'],
  ['generic', 'arguments'],
  ['llama-json', 'parameters'],
] as const;

describe.each(styles)('JSON without marks in the %s style', (style, key) => {
  const rome = '{"city": "Rome"}';
  const forms = [
    `{"name": "weather", "${key}": ${rome}}`,
    `{"name":"weather","${key}":${rome}}`,
    `{ "name": "weather", "${key}": ${rome} }`,
    `{\n  "name": "weather",\n  "${key}": ${rome}\n}`,
    `{\n    "name": "weather",\n    "${key}": ${rome}\n}`,
  ];

  it.each(forms.flatMap((form) => [form, `\n${form}`, `\`\`\`json\n${form}\n\`\`\``, `\`\`\`\n${form}\n\`\`\``]))(
    'is a call: %j',
    async (text) => {
      expect(await accepts(style, text)).toBe(true);
      expect(read(style, text)).toEqual({ content: '', calls: [['weather', rome]] });
    },
  );

  it('is a call in a block behind a text, which stays content', async () => {
    const text = `Let me see.\n\n\`\`\`json\n${forms[0]}\n\`\`\``;
    expect(await accepts(style, text)).toBe(true);
    expect(read(style, text)).toEqual({ content: 'Let me see.', calls: [['weather', rome]] });
  });

  it('follows the schema of the tool once its arguments have begun', async () => {
    for (const wrong of ['{"city": 1}', '{"town": "Rome"}', '{}', '{"city": "Rome", "days": "2"}']) {
      expect([wrong, await accepts(style, `{"name": "weather", "${key}": ${wrong}}`)]).toEqual([wrong, false]);
      expect(await accepts(style, `\`\`\`json\n{"name":"weather","${key}":${wrong}}\n\`\`\``)).toBe(false);
    }
    expect(await accepts(style, `${forms[0]} and more`)).toBe(false);
  });

  it.each([
    '{"name": "John", "age": 3}',
    `{"name": "forecast", "${key}": {}}`,
    '{"name": "weather", "description": "The weather."}',
    `{"name": "weather_no", "${key}": {}}`,
    `Call {"name": "weather", "${key}": {}} for that.`,
    `[{"name": "weather", "${key}": {}}]`,
    '```json\n{"name": "John"}\n```',
    '```js\nlet name;\n```',
    '{"name"',
  ])('is content where it calls no tool: %j', async (text) => {
    expect(await accepts(style, text)).toBe(true);
    expect(read(style, text)).toEqual({ content: text, calls: [] });
  });

  it('calls only tools that may be called', async () => {
    const use = { ...free, allowed: ['weather_now'] };
    const text = `{"name": "weather", "${key}": {"any": 1}}`;
    expect(await accepts(style, text, use)).toBe(true);
    expect(read(style, text, { use })).toEqual({ content: text, calls: [] });
    const allowed = `{"name": "weather_now", "${key}": {}}`;
    expect(read(style, allowed, { use }).calls).toEqual([['weather_now', '{}']]);
  });
});

describe('JSON without marks', () => {
  const now = '{"name": "weather_now", "arguments": {}}';

  it('holds further calls on lines of their own, unless only one is asked for', async () => {
    for (const text of [`${now}\n${now}`, `\`\`\`json\n${now}\n${now}\n\`\`\``]) {
      expect(await accepts('hermes', text)).toBe(true);
      expect(await accepts('hermes', text, { ...free, isParallel: false })).toBe(false);
      expect(read('hermes', text).calls).toEqual([
        ['weather_now', '{}'],
        ['weather_now', '{}'],
      ]);
    }
  });

  it('is no form of a call that is demanded, and leaves the marks of others as they are', async () => {
    expect(await accepts('hermes', now, { ...free, isRequired: true })).toBe(false);
    expect(await accepts('hermes', `<tool_call>${now}`)).toBe(false);
    expect(await accepts('hermes', `<tool_call>${now}</tool_call>`)).toBe(true);
    expect(await accepts('hermes', `${now}</tool_call>`)).toBe(false);
  });

  it('is the document where the response has a format', () => {
    expect(read('hermes', now, { hasFormat: true })).toEqual({ content: now, calls: [] });
    expect(read('hermes', `<tool_call>${now}</tool_call>`, { hasFormat: true }).calls).toHaveLength(1);
  });

  it('does not count schemas once for each form of a call', async () => {
    const wide = { type: 'object', properties: { kind: { enum: [...'abcdefgh'].map((text) => text.repeat(1_000)) } } };
    const many = Array.from({ length: 60 }, (_, index): ToolDefinition => {
      return { name: `tool_${index}`, param: `tools[${index}].function.parameters`, parameters: wide };
    });
    expect(await accepts('hermes', 'No call.', { ...free, tools: many })).toBe(true);
  });
});
