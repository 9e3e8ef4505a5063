import { describe, expect, it } from 'vitest';
import { Automaton, type State } from './automaton.js';
import { compileSchema } from './schema/schema-compiler.js';
import { ConstraintRefusal } from './refusal.js';

function automatonOf(schema: unknown): Automaton {
  const work = compileSchema(schema);
  for (;;) {
    const step = work.next();
    if (step.done) return new Automaton(step.value.grammar, step.value.start);
  }
}

function accepts(automaton: Automaton, text: string): boolean {
  let state: State | null = automaton.start;
  for (const byte of new TextEncoder().encode(text)) {
    if (state === null) return false;
    state = automaton.next(state, byte);
  }
  return state?.isComplete ?? false;
}

describe('smoke', () => {
  it.each([
    [{ type: 'integer', minimum: 3, maximum: 120 }, ['3', '99', '120', '45'], ['2', '121', '03', '-5', '3.5']],
    [{ type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } }, required: ['a'], additionalProperties: false }, ['{"a":"x"}', '{"a": "x", "b": 1}', '{\n  "a": "\\u00e9",\n  "b": -1\n}'], ['{}', '{"b":1}', '{"a":1}', '{"a":"x","c":1}']],
    [{}, ['1', '"a"', '[1,{"a":[]}]', 'null', '{"x":{}}'], ['', '[1,]']],
    [{ type: 'string', pattern: '^a"b+$', maxLength: 4 }, ['"a\\"b"', '"a\\"bb"'], ['"a\\"bbb"', '"ab"']],
    [{ $ref: '#/$defs/t', $defs: { t: { type: 'object', properties: { c: { type: 'array', items: { $ref: '#/$defs/t' } } }, additionalProperties: false } } }, ['{}', '{"c":[{"c":[{}]}]}'], ['{"c":[1]}']],
  ] as const)('%j', (schema, good, bad) => {
    const automaton = automatonOf(schema);
    for (const text of good) expect([text, accepts(automaton, text)]).toEqual([text, true]);
    for (const text of bad) expect([text, accepts(automaton, text)]).toEqual([text, false]);
  });
  it('cyclic', () => {
    expect(() => automatonOf({ $ref: '#' })).toThrow(ConstraintRefusal);
    expect(() => automatonOf({ anyOf: [{ $ref: '#' }, { type: 'string' }] })).toThrow(ConstraintRefusal);
  });
});
