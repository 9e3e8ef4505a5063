import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SchemaValidator } from './schema-validator.js';

interface Group {
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}

const suite = new URL(
  '../../../inference/src/constraints/schema/__fixtures__/json-schema-test-suite/draft2020-12.json',
  import.meta.url,
);
const files = JSON.parse(readFileSync(suite, 'utf8')) as Record<string, Group[]>;

describe('SchemaValidator', () => {
  // Custom vocabularies are not read.
  it.each(Object.entries(files).filter(([file]) => file !== 'vocabulary'))(
    'finds no violation in valid values of the official suite: %s',
    (_, groups) => {
      for (const { description, schema, tests } of groups) {
        const validator = new SchemaValidator(schema);
        for (const { description: name, data } of tests.filter(({ valid }) => valid)) {
          expect([description, name, validator.violationOf(data)]).toEqual([description, name, null]);
        }
      }
    },
  );

  it.each([
    ['contains', 1],
    ['dependentRequired', 1],
    ['dependentSchemas', 1],
    ['if-then-else', 1],
    ['maxContains', 1],
    ['minContains', 1],
    ['oneOf', 1],
    ['anyOf', 1],
    ['not', 0.9],
    ['uniqueItems', 1],
    ['multipleOf', 1],
  ])('finds the violations of %s', (file, share) => {
    const cases = (files[file] ?? []).flatMap(({ schema, tests }) => {
      const validator = new SchemaValidator(schema);
      return tests.filter(({ valid }) => !valid).map(({ data }) => validator.violationOf(data) !== null);
    });
    expect(cases.length).toBeGreaterThan(0);
    expect(cases.filter(Boolean).length / cases.length).toBeGreaterThanOrEqual(share);
  });

  it.each([
    [{ properties: { a: { uniqueItems: true } } }, { a: [1, 1] }, '/properties/a/uniqueItems'],
    [{ items: [{}, { not: { const: 1 } }] }, [0, 1], '/items/1/not'],
    [{ dependencies: { a: ['b'] } }, { a: 1 }, '/dependencies'],
    [{ $defs: { a: { multipleOf: 7 } }, items: { $ref: '#/$defs/a' } }, [7, 8], '/$defs/a/multipleOf'],
  ])('names the keyword of %j as it is written', (schema, value, pointer) => {
    expect(new SchemaValidator(schema).violationOf(value)?.pointer).toBe(pointer);
  });

  it('draws no conclusion from patterns, which it does not run', () => {
    const schema = { not: { pattern: '^(a+)+$' }, oneOf: [{ pattern: 'a' }, { pattern: 'b' }] };
    expect(new SchemaValidator(schema).violationOf(`${'a'.repeat(50)}!`)).toBeNull();
  });

  it('gives up where a schema doubles with each step', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => {
        const next = { $ref: `#/$defs/a${index + 1}` };
        return [`a${index}`, index === 59 ? { type: 'string' } : { allOf: [{ ...next }, { ...next }] }];
      }),
    );
    expect(new SchemaValidator({ $defs, $ref: '#/$defs/a0' }).violationOf(1)).not.toBeUndefined();
    expect(new SchemaValidator({ $defs, $ref: '#/$defs/a0' }).violationOf('x')).toBeNull();
  });
});
