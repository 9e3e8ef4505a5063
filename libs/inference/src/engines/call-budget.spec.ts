import { describe, expect, it } from 'vitest';
import { type ToolCallPiece, type ToolDefinition, toolStyleNames } from '../contract/tool-use.js';
import { ToolCallReader } from '../tools/tool-call-reader.js';
import { toolStyles } from '../tools/tool-styles.js';
import { CallBudget } from './call-budget.js';

const tools: ToolDefinition[] = [
  {
    name: 'get_weather',
    param: 'tools[0].function.parameters',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];
const calls = ['Paris', 'Rome', 'Oslo', 'Lima', 'Quito'].map((city, index) => ({
  id: `call_${index}`,
  name: 'get_weather',
  arguments: JSON.stringify({ city }),
}));

/** The text up to where the budget ends it, one character a token. */
function textWithin(name: (typeof toolStyleNames)[number], text: string, maxTokens: number): string {
  const budget = new CallBudget(maxTokens, { style: name, tools });
  for (let length = 1; length <= maxTokens; length++) {
    if (budget.push(text[length - 1] ?? '', length)) return text.slice(0, length);
  }
  return text.slice(0, maxTokens);
}

function callsIn(name: (typeof toolStyleNames)[number], text: string): unknown[] {
  const reader = new ToolCallReader((source) => toolStyles[name].read(source, tools));
  const texts: string[] = [];
  const take = (piece: ToolCallPiece): void => {
    if (piece.type === 'call') texts.push('');
    else if (piece.type === 'arguments') texts.push((texts.pop() ?? '') + piece.text);
  };
  for (const piece of [...reader.push(text), ...reader.finish()]) take(piece);
  return texts.map((arguments_) => JSON.parse(arguments_) as unknown);
}

describe.each(toolStyleNames.filter((name) => toolStyles[name].isSingle !== true))('the %s style', (name) => {
  const text = toolStyles[name].write(calls, tools);

  it('holds only whole calls, whatever the token limit is', () => {
    const first = toolStyles[name].write(calls.slice(0, 1), tools).length;
    for (let maxTokens = first; maxTokens < text.length; maxTokens++) {
      const cut = textWithin(name, text, maxTokens);
      const read = callsIn(name, cut);
      expect(read.length).toBeGreaterThan(0);
      expect(read).toEqual(calls.slice(0, read.length).map((call) => JSON.parse(call.arguments) as unknown));
    }
  });

  it('holds every call where the limit is far', () => {
    expect(textWithin(name, text, 10 * text.length)).toBe(text);
  });
});

describe('the call budget', () => {
  it('lets the text that is no call run to the limit', () => {
    const budget = new CallBudget(100, { style: 'hermes', tools });
    const isLast = Array.from({ length: 100 }, (_, index) => budget.push('word ', index + 1));
    expect(isLast).not.toContain(true);
  });
});
