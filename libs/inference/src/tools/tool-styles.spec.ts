import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConstraintCompiler } from '../constraints/constraint-compiler.js';
import { buildTokenTrie } from '../constraints/token-trie.js';
import { type ToolCall, type ToolCallPiece, type ToolDefinition, toolStyleNames } from '../contract/tool-use.js';
import { isAllowed } from '../sampling/token-constraint.js';
import { ToolCallReader } from './tool-call-reader.js';
import { toolRegions } from './tool-style.js';
import { findToolStyle, toolStyles } from './tool-styles.js';

const tools: ToolDefinition[] = [
  {
    name: 'get_weather',
    description: 'The weather of a city.',
    param: 'tools[0].function.parameters',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Its name.' },
        unit: { enum: ['c', 'f'] },
        days: { type: 'array', items: { type: 'integer' } },
        where: { $ref: '#/$defs/place' },
        exact: { type: 'boolean' },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
      required: ['city', 'exact'],
      $defs: { place: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } },
    },
  },
  { name: 'now', param: 'tools[1].function.parameters', parameters: {} },
];

const weather = { city: 'São "X" }])\n, {\\', exact: true };
const full = {
  city: 'Rome, [x](y)',
  exact: false,
  unit: 'f',
  days: [1, -2],
  where: { at: '</tool_call>' },
  note: null,
};

function callOf(name: string, values: object): ToolCall {
  // In the order of the schema, as a model under its grammar writes them.
  const order = ['city', 'unit', 'days', 'where', 'exact', 'note'];
  const sorted = Object.entries(values).sort(([left], [right]) => order.indexOf(left) - order.indexOf(right));
  return { id: 'call_1', name, arguments: JSON.stringify(Object.fromEntries(sorted)) };
}

/** As the styles that write arguments one by one order them: required ones first. */
function requiredFirst({ arguments: text, ...call }: ToolCall): ToolCall {
  const values = Object.entries(JSON.parse(text) as object);
  const isRequired = ([name]: [string, unknown]): boolean => name === 'city' || name === 'exact';
  const sorted = [...values.filter(isRequired), ...values.filter((entry) => !isRequired(entry))];
  return { ...call, arguments: JSON.stringify(Object.fromEntries(sorted)) };
}

const compiler = new ConstraintCompiler(
  buildTokenTrie([new Uint8Array(0), ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))], new Set([0])),
);

interface Read {
  content: string;
  calls: { name: string; values: unknown }[];
}

function joined(pieces: readonly ToolCallPiece[]): Read {
  const read = { content: '', calls: [] as { name: string; text: string }[] };
  for (const piece of pieces) {
    if (piece.type === 'content') read.content += piece.text;
    else if (piece.type === 'call') read.calls.push({ name: piece.name, text: '' });
    else (read.calls.at(-1) ?? { text: '' }).text += piece.text;
  }
  return {
    content: read.content,
    calls: read.calls.map(({ name, text }) => ({ name, values: JSON.parse(text) as unknown })),
  };
}

/** The content and the text of each call, complete or not. */
function texts(pieces: readonly ToolCallPiece[]): { content: string; calls: string[] } {
  const content = pieces.map((piece) => (piece.type === 'content' ? piece.text : '')).join('');
  const calls: string[] = [];
  for (const piece of pieces) {
    if (piece.type === 'call') calls.push(`${piece.name}(`);
    else if (piece.type === 'arguments') calls.push(`${calls.pop() ?? ''}${piece.text}`);
  }
  return { content, calls };
}

function readerOf(name: (typeof toolStyleNames)[number]): ToolCallReader {
  return new ToolCallReader((text) => toolStyles[name].read(text, tools));
}

const isWhole = (name: string): boolean => name.startsWith('llama');

describe.each(toolStyleNames)('the %s style', (name) => {
  const style = toolStyles[name];
  const ordered = name === 'llama-pythonic' ? requiredFirst : (call: ToolCall) => call;
  const calls = [callOf('get_weather', full), callOf('now', {}), callOf('get_weather', weather)].map(ordered);
  const sets = style.isSingle === true ? calls.map((call) => [call]) : [calls, calls.slice(1, 2), calls.slice(2)];

  it('reads what it writes, wherever the text is split', () => {
    for (const set of sets) {
      const content = isWhole(name) ? '' : 'Let me <see>.';
      const text = `${content === '' ? '' : `${content}\n`}${style.write(set, tools)}\n`;
      const expected = {
        content,
        calls: set.map((call) => ({ name: call.name, values: JSON.parse(call.arguments) as unknown })),
      };
      fc.assert(
        fc.property(fc.array(fc.nat(text.length), { maxLength: text.length }), (cuts) => {
          const places = [0, ...cuts, text.length].sort((left, right) => left - right);
          const reader = readerOf(name);
          const pieces = places.slice(1).flatMap((end, index) => reader.push(text.slice(places[index], end)));
          expect(joined([...pieces, ...reader.finish()])).toEqual(expected);
        }),
        { numRuns: 60 },
      );
      const reader = readerOf(name);
      expect(joined([...[...text].flatMap((character) => reader.push(character)), ...reader.finish()])).toEqual(
        expected,
      );
    }
  });

  it('gives content as it is where no call comes', () => {
    for (const text of ['', '  ', ' Hello [x] {"a": 1} < <tool_ \n', 'a\n\n b', '[', '{"na']) {
      const reader = readerOf(name);
      const pieces = [...[...text].flatMap((character) => reader.push(character)), ...reader.finish()];
      expect(joined(pieces)).toEqual({ content: text, calls: [] });
    }
  });

  it('gives no piece of a call as content, wherever the output is cut', () => {
    for (const set of sets) {
      const text = style.write(set, tools);
      const complete = texts(readerOf(name).push(text));
      for (let length = 0; length < text.length; length++) {
        const cut = text.slice(0, length);
        for (const [isRequired, cutBefore] of [
          [true, ['']],
          [true, []],
          [false, ['']],
          [false, [text.slice(length, length + 3)]],
        ] as const) {
          const read = (pieces: (reader: ToolCallReader) => ToolCallPiece[]) => {
            const reader = new ToolCallReader((source) => style.read(source, tools), { isRequired });
            return [...pieces(reader), ...reader.finish(cutBefore)];
          };
          const whole = texts(read((reader) => reader.push(`\n ${cut}`)));
          const streamed = texts(read((reader) => [...`\n ${cut}`].flatMap((piece) => reader.push(piece))));
          expect([cut, whole.content.trim()]).toEqual([cut, '']);
          expect(streamed).toEqual(whole);
          for (const [index, written] of whole.calls.entries()) {
            expect(complete.calls[index]?.slice(0, written.length)).toBe(written);
          }
        }
      }
    }
  });

  it('gives what only looks like the beginning of a call as content where the model ended there', () => {
    for (const cutBefore of [[], ['.']]) {
      const reader = readerOf(name);
      const text = `It is ${style.write(calls.slice(0, 1), tools).slice(0, 3)}`;
      expect(joined([...reader.push(text), ...reader.finish(cutBefore)])).toEqual({ content: text, calls: [] });
    }
  });

  it('hands out the text of arguments before they are complete', () => {
    const text = style.write([callOf('get_weather', { city: 'Rome and Paris', exact: true })], tools);
    const reader = readerOf(name);
    const pieces = reader.push(text.slice(0, text.indexOf('Paris')));
    expect(pieces).toContainEqual({ type: 'call', name: 'get_weather' });
    expect(pieces.at(-1)).toMatchObject({ type: 'arguments', text: expect.stringContaining('Rome and') as string });
  });

  it('lets a model write just these calls', async () => {
    const accepts = async (text: string, use: { isRequired: boolean; isParallel: boolean; allowed?: string[] }) => {
      const regions = toolRegions(style, { tools, ...use }, null);
      const matcher = (await compiler.compile({ type: 'regions', regions, param: 'tools' })).newMatcher([0]);
      for (const byte of new TextEncoder().encode(text)) {
        if (!isAllowed(matcher.allowed(), byte + 1)) return false;
        matcher.accept(byte + 1);
      }
      return matcher.isFinished() || matcher.allowed().endings.length > 0;
    };
    for (const set of sets) {
      const text = style.write(set, tools);
      const isList = set.length > 1;
      for (const isRequired of [false, true]) {
        expect([text, await accepts(text, { isRequired, isParallel: true })]).toEqual([text, true]);
        expect(await accepts(text, { isRequired, isParallel: false })).toBe(!isList);
        expect(await accepts(text.slice(0, -1), { isRequired, isParallel: true })).toBe(false);
      }
      expect(await accepts('No call.', { isRequired: false, isParallel: true })).toBe(true);
      expect(await accepts('No call.', { isRequired: true, isParallel: true })).toBe(false);
    }
    const now = style.write([callOf('now', {})], tools);
    expect(await accepts(now, { isRequired: true, isParallel: true, allowed: ['now'] })).toBe(true);
    expect(await accepts(now, { isRequired: true, isParallel: true, allowed: ['get_weather'] })).toBe(false);
    const wrong = style.write([callOf('get_weather', { city: 'x', exact: 1 })], tools);
    expect(await accepts(wrong, { isRequired: false, isParallel: true })).toBe(false);
  });
});

describe.each(toolStyleNames)('a format of a text in the %s style', (name) => {
  const style = toolStyles[name];
  const formats = [
    { syntax: 'regex', definition: '[a-z]+\\n"[0-9]"' },
    {
      syntax: 'lark',
      definition: 'start: "a" start | WORD LF QUOTED\nQUOTED: "\\"" /[0-9]/ "\\""\n%import common (WORD, LF)',
    },
  ] as const;

  it.each(formats)('is that of every call: $syntax', async (format) => {
    const parameters = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };
    const patch = { name: 'patch', parameters, param: 'p', textFormat: { argument: 'input', ...format } };
    const accepts = async (input: string, isRequired: boolean) => {
      const text = style.write([{ id: 'call_1', name: 'patch', arguments: JSON.stringify({ input }) }], [patch]);
      const regions = toolRegions(style, { tools: [patch], isRequired, isParallel: false }, null);
      const matcher = (await compiler.compile({ type: 'regions', regions, param: 'tools' })).newMatcher([0]);
      for (const byte of new TextEncoder().encode(text)) {
        if (!isAllowed(matcher.allowed(), byte + 1)) return false;
        matcher.accept(byte + 1);
      }
      const reader = new ToolCallReader((read) => style.read(read, [patch]));
      const { calls } = joined([...reader.push(text), ...reader.finish()]);
      expect(calls).toEqual([{ name: 'patch', values: { input } }]);
      return matcher.isFinished() || matcher.allowed().endings.length > 0;
    };
    for (const isRequired of [true, false]) {
      expect(await accepts('aab\n"7"', isRequired)).toBe(true);
      for (const wrong of ['aab\n"x"', '\n"7"', 'aab'])
        expect([wrong, await accepts(wrong, isRequired)]).toEqual([wrong, false]);
    }
  });

  it('is refused by its field and line', async () => {
    const textFormat = { argument: 'input', syntax: 'lark', definition: 'start: "a"\n  b' } as const;
    const tools = [{ name: 'patch', parameters: {}, param: 'tools[0].format', textFormat }];
    const regions = toolRegions(style, { tools, isRequired: true, isParallel: false }, null);
    await expect(compiler.compile({ type: 'regions', regions, param: 'tools' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'tools[0].format',
      message: 'The grammar is not supported at line 2: b is not defined.',
    });
  });
});

describe('the style of a model', () => {
  it.each([
    ['{"name": <function-name>, "arguments": <args>}\n</tool_call> <tool_call>', 'hermes'],
    ['<tool_call>\n<function=example>', 'qwen-coder'],
    ['{"name": function name, "parameters": dictionary of argument name and its value}', 'llama-json'],
    ['[func_name1(params_name1=params_value1), func_name2(params)]', 'llama-pythonic'],
    ['{{ "[TOOL_CALLS] [" }}', 'mistral'],
    ['{{ "[TOOL_CALLS]" + name + "[ARGS]" }}', 'mistral-args'],
    ['<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function ```json', 'deepseek'],
    ['<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>', 'deepseek-v3.1'],
    ['{% for message in messages %}{{ message.content }}{% endfor %}', 'generic'],
  ])('is found in its chat template: %s', (template, name) => {
    expect(findToolStyle(template).name).toBe(name);
  });

  it('is the one that the manifest names', () => {
    expect(findToolStyle('<tool_call>', 'mistral').name).toBe('mistral');
    expect(findToolStyle(null).name).toBe('generic');
  });
});
