import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConstraintCompiler } from '../constraints/constraint-compiler.js';
import { buildTokenTrie } from '../constraints/token-trie.js';
import type { ToolDefinition } from '../contract/tool-use.js';
import { isAllowed } from '../sampling/token-constraint.js';
import { llamaPythonicStyle } from './llama-pythonic.style.js';
import { ToolCallReader } from './tool-call-reader.js';
import { toolRegions } from './tool-style.js';

function toolOf(name: string, properties: object, required = Object.keys(properties)): ToolDefinition {
  return { name, param: 'tools[0].function.parameters', parameters: { type: 'object', properties, required } };
}

const compiler = new ConstraintCompiler(
  buildTokenTrie([new Uint8Array(0), ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))], new Set([0])),
);

async function accepts(tools: ToolDefinition[], text: string): Promise<boolean> {
  const regions = toolRegions(llamaPythonicStyle, { tools, isRequired: true, isParallel: true }, null);
  const matcher = (await compiler.compile({ type: 'regions', regions, param: 'tools' })).newMatcher([0]);
  for (const byte of new TextEncoder().encode(text)) {
    if (!isAllowed(matcher.allowed(), byte + 1)) return false;
    matcher.accept(byte + 1);
  }
  return matcher.isFinished() || matcher.allowed().endings.length > 0;
}

/** The calls in a text, which is read in these pieces. */
function callsIn(tools: ToolDefinition[], pieces: readonly string[]): { name: string; values: unknown }[] {
  const reader = new ToolCallReader((text) => llamaPythonicStyle.read(text, tools));
  const calls: { name: string; text: string }[] = [];
  for (const piece of [...pieces.flatMap((text) => reader.push(text)), ...reader.finish()]) {
    if (piece.type === 'call') calls.push({ name: piece.name, text: '' });
    else if (piece.type === 'arguments') (calls.at(-1) ?? { text: '' }).text += piece.text;
  }
  return calls.map(({ name, text }) => ({ name, values: JSON.parse(text) as unknown }));
}

describe('Python literals in calls', () => {
  const tools = [toolOf('f', { a: {} })];
  it.each<[string, unknown]>([
    ['True', true],
    ['False', false],
    ['None', null],
    ['true', true],
    ['-1.5e3', -1500],
    [`'it is "so"'`, 'it is "so"'],
    [`"it's"`, `it's`],
    [String.raw`'it\'s \\ \n \x41\u00e9\U0001f6a3 \d \/'`, "it's \\ \n Aé🚣 \\d /"],
    ['"a\tb"', 'a\tb'],
    [`{'a': [True, None, {'b': ('x', 2,)}], "c": {}}`, { a: [true, null, { b: ['x', 2] }], c: {} }],
    ['[1, 2, ]', [1, 2]],
    [`['True', "None", 'a, b)]']`, ['True', 'None', 'a, b)]']],
    ['()', []],
    ['""', ''],
  ])('%s is read wherever the text is split', (literal, value) => {
    const text = `[f(a=${literal}), f(a=1)]`;
    const expected = [
      { name: 'f', values: { a: value } },
      { name: 'f', values: { a: 1 } },
    ];
    expect(callsIn(tools, [...text])).toEqual(expected);
    fc.assert(
      fc.property(fc.nat(text.length), (at) => {
        expect(callsIn(tools, [text.slice(0, at), text.slice(at)])).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  it('stay JSON for every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const [call] = callsIn(tools, [`[f(a=${JSON.stringify(value)})]`]);
        // A JSON text has no negative zero.
        expect(call?.values).toEqual({ a: JSON.parse(JSON.stringify(value)) as unknown });
      }),
      { numRuns: 300 },
    );
  });
});

describe('what a model may write', () => {
  const tools = [
    toolOf('set', {
      on: { type: 'boolean' },
      color: { enum: ['red', 'it’s', "o'clock"] },
      note: { type: 'string' },
      size: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    }),
  ];
  it.each<[string, boolean]>([
    [`[set(on=True, color='red', note='so "be" it', size=None)]`, true],
    [`[set(on=false, color="red", note="it's", size=3)]`, true],
    [`[set(on=False, color='it’s', note='', size=-3), set(on=True, color="o'clock", note="", size=null)]`, true],
    [`[set(on=None, color='red', note='', size=1)]`, false],
    [`[set(on=True, color='blue', note='', size=1)]`, false],
    [`[set(on=True, color='red', note=True, size=1)]`, false],
    [`[set(on=True, color='red', note='', size=True)]`, false],
    [`[set(on=True, color='red', note='', size='1')]`, false],
  ])('%s: %s', async (text, isAccepted) => {
    expect(await accepts(tools, text)).toBe(isAccepted);
    if (isAccepted) expect(callsIn(tools, [text]).length).toBeGreaterThan(0);
  });
});

describe('128 tools', () => {
  const tools = Array.from({ length: 128 }, (_, index) =>
    toolOf(`tool_${index}`, {
      path: { type: 'string' },
      depth: { type: 'integer', minimum: 0, maximum: 9 },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    }),
  );

  it('compile together, and each may be called', async () => {
    const text = `[tool_0(path="a", depth=1, tags=[]), tool_127(path='b', depth=9, tags=["a", "b"])]`;
    expect(await accepts(tools, text)).toBe(true);
    expect(await accepts(tools, '[tool_128(path="a", depth=1, tags=[])]')).toBe(false);
    expect(callsIn(tools, [text]).map(({ name }) => name)).toEqual(['tool_0', 'tool_127']);
  });
});
