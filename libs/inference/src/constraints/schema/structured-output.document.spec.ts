import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConstraintRefusal } from '../refusal.js';
import { automatonOf } from '../schema-automaton.js';
import { numberFormats, patternedFormats } from '#common/json-schema';
import { formatPatterns } from './formats.js';

const page = readFileSync(resolve(import.meta.dirname, '../../../../../docs/guides/structured-output.md'), 'utf8');

/** Cells of the table of keywords. */
const rows = page
  .slice(page.indexOf('\n| Keyword '), page.indexOf('## Cost'))
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

function namesIn(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '');
}

const isRefusedRow = (row: readonly string[]): boolean => row[2]?.startsWith('not covered') ?? false;
const rowsOf = (isRefused: boolean): string[] =>
  rows.filter((row) => isRefusedRow(row) === isRefused).flatMap((row) => namesIn(row[1]));

const small = { type: 'string' };

/** A schema with each keyword of draft 2020-12, and those of OpenAPI that occur in schemas of applications. */
const examples: Record<string, object> = {
  $anchor: { $anchor: 'a', ...small },
  $comment: { $comment: 'x', ...small },
  $defs: { $defs: { a: small }, $ref: '#/$defs/a' },
  $dynamicAnchor: { $dynamicAnchor: 'a', ...small },
  $dynamicRef: { $dynamicRef: '#a', ...small },
  id: { id: 'https://example.com/a', ...small },
  $id: { $id: 'https://example.com/a', ...small },
  $ref: { $ref: '#/$defs/a', $defs: { a: small } },
  $schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...small },
  $vocabulary: { $vocabulary: {}, ...small },
  additionalProperties: { additionalProperties: false, type: 'object' },
  allOf: { allOf: [small] },
  anyOf: { anyOf: [small, { type: 'null' }] },
  const: { const: 1 },
  contains: { contains: small },
  contentEncoding: { contentEncoding: 'base64', ...small },
  contentMediaType: { contentMediaType: 'text/plain', ...small },
  contentSchema: { contentSchema: {}, ...small },
  default: { default: 'a', ...small },
  definitions: { definitions: { a: small }, $ref: '#/definitions/a' },
  dependentRequired: { dependentRequired: { a: ['b'] } },
  dependentSchemas: { dependentSchemas: { a: {} } },
  deprecated: { deprecated: true, ...small },
  description: { description: 'x', ...small },
  enum: { enum: ['a', 1] },
  examples: { examples: ['a'], ...small },
  exclusiveMaximum: { type: 'number', exclusiveMaximum: 3 },
  exclusiveMinimum: { type: 'number', exclusiveMinimum: 3 },
  format: { type: 'string', format: 'date' },
  items: { type: 'array', items: small },
  maxContains: { maxContains: 1 },
  maxItems: { type: 'array', maxItems: 2 },
  maxLength: { type: 'string', maxLength: 2 },
  maxProperties: { type: 'object', maxProperties: 2 },
  maximum: { type: 'number', maximum: 2 },
  minContains: { minContains: 1 },
  minItems: { type: 'array', minItems: 1 },
  minLength: { type: 'string', minLength: 1 },
  minProperties: { type: 'object', minProperties: 1 },
  minimum: { type: 'number', minimum: 1 },
  multipleOf: { type: 'integer', multipleOf: 5 },
  not: { properties: { a: { not: {} } } },
  nullable: { type: 'string', nullable: true },
  oneOf: { oneOf: [small, { type: 'null' }] },
  pattern: { type: 'string', pattern: '^a$' },
  patternProperties: { type: 'object', patternProperties: { '^a': small } },
  prefixItems: { type: 'array', prefixItems: [small] },
  properties: { type: 'object', properties: { a: small } },
  propertyNames: { propertyNames: small },
  readOnly: { readOnly: true, ...small },
  required: { type: 'object', properties: { a: small }, required: ['a'] },
  if: { if: { type: 'string' }, then: { minLength: 1 } },
  then: { if: small, then: small, else: { type: 'null' } },
  else: { if: small, else: { type: 'null' } },
  title: { title: 'x', ...small },
  type: small,
  unevaluatedItems: { unevaluatedItems: false },
  unevaluatedProperties: { unevaluatedProperties: false },
  uniqueItems: { type: 'array', items: { type: 'string' }, uniqueItems: true },
  writeOnly: { writeOnly: true, ...small },
};

/** Null, or where it is refused. */
function refusalOf(schema: unknown): string | null {
  try {
    automatonOf(schema);
    return null;
  } catch (error) {
    if (error instanceof ConstraintRefusal) return error.pointer;
    throw error;
  }
}

describe('the table of keywords in docs/guides/structured-output.md', () => {
  it('names every keyword of the standard once', () => {
    const named = [...rowsOf(false), ...rowsOf(true)].filter((name) => !name.startsWith('x-'));
    expect(named.toSorted()).toEqual(Object.keys(examples).toSorted());
  });

  it.each(Object.entries(examples))('says whether %s is covered', (keyword, schema) => {
    const isRefused = rowsOf(true).includes(keyword);
    expect(refusalOf(schema)).toBe(isRefused ? `/${keyword}` : null);
  });

  it('names every format', () => {
    const [row] = rows.filter(([, cell]) => cell === '`format`');
    expect(namesIn(row?.[2]).toSorted()).toEqual(
      [...Object.keys(formatPatterns), ...numberFormats, ...patternedFormats].toSorted(),
    );
  });
});
