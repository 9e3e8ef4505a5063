import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConstraintRefusal } from '../refusal.js';
import { accepts, acceptsInSomeOrder, automatonOf } from '../schema-automaton.js';
import { formatPattern } from './formats.js';

/*
 * The official JSON-Schema-Test-Suite, draft 2020-12, and its optional tests of the formats that are covered. Files and
 * license: `__fixtures__/json-schema-test-suite`.
 */

interface Group {
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}

function fixture(name: string): unknown {
  const url = new URL(`./__fixtures__/json-schema-test-suite/${name}`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as unknown;
}

const files = fixture('draft2020-12.json') as Record<string, Group[]>;
/** Groups that are refused, with pointer and reason, by file. */
const refused = fixture('refused.json') as Record<string, Record<string, string>>;

/** Valid instances that the grammar does not offer. */
const notOffered = [
  // A leap second exists on few days, which no pattern knows.
  /leap second/,
  /^a quoted string with/,
  /address-literal after the @ is valid$/,
  // Custom vocabularies are not read.
  /^no validation: invalid number/,
];

/** Known formats are assertions here, as in OpenAPI, and not annotations. */
function isAsserted(schema: unknown, name: string): boolean {
  const { format = '' } = schema as { format?: string };
  return formatPattern(format) !== null && name.endsWith('is only an annotation by default');
}

function compile(schema: unknown): ReturnType<typeof automatonOf> | string {
  try {
    return automatonOf(schema);
  } catch (error) {
    if (error instanceof ConstraintRefusal) return error.message;
    throw error;
  }
}

/** The JSON of an instance with a blank behind each colon and comma. */
function spaced(data: unknown): string {
  if (Array.isArray(data)) return `[${data.map(spaced).join(', ')}]`;
  if (typeof data !== 'object' || data === null) return JSON.stringify(data);
  return `{${Object.entries(data)
    .map(([name, value]) => `${JSON.stringify(name)}: ${spaced(value)}`)
    .join(', ')}}`;
}

describe('the JSON-Schema-Test-Suite', () => {
  it.each(Object.entries(files))('%s: accepts what is valid, and nothing else', (file, groups) => {
    for (const { description, schema, tests } of groups) {
      const automaton = compile(schema);
      expect([description, typeof automaton === 'string' ? automaton : null]).toEqual([
        description,
        refused[file]?.[description] ?? null,
      ]);
      if (typeof automaton === 'string') continue;
      for (const { description: name, data, valid } of tests) {
        const isOffered = valid && !notOffered.some((pattern) => pattern.test(name)) && !isAsserted(schema, name);
        expect([description, name, acceptsInSomeOrder(automaton, data)]).toEqual([description, name, isOffered]);
        // With a blank behind colons and commas, the same instance is accepted as often.
        expect([name, accepts(automaton, spaced(data))]).toEqual([name, accepts(automaton, JSON.stringify(data))]);
      }
    }
  });

  it('names a place in the schema for each group that is refused', () => {
    for (const reason of Object.values(refused).flatMap((groups) => Object.values(groups))) {
      expect(reason).toMatch(/^(#|\/[^:]*): .+/);
    }
  });
});
