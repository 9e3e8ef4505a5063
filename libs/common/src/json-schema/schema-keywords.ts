import { isSchemaObject, type SchemaObject } from './schema-forms.js';

/* What each keyword of one schema is worth to a grammar. Schemas here are in the form of `modernSchema`. */

/** Tells whether what a schema does not accept can be written as schemas. */
export interface NegationCheck {
  of(schema: unknown): { isExact: boolean };
}

/** Something that a schema says of one of its keywords. */
export interface KeywordFinding {
  keyword: string;
  reason: string;
}

export interface KeywordFindings {
  /** Values that the standard does not allow. */
  malformed: KeywordFinding[];
  /** Keywords that say which values are valid, and that no grammar here follows. */
  uncovered: KeywordFinding[];
  /** Keywords and formats that are unknown: annotations, as the standard says. */
  ignored: string[];
}

/** Keywords that say nothing about which values are valid. */
const annotations: ReadonlySet<string> = new Set([
  '$anchor',
  '$comment',
  '$defs',
  '$id',
  '$schema',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
  'default',
  'definitions',
  'deprecated',
  'description',
  'discriminator',
  'example',
  'examples',
  'externalDocs',
  'id',
  'readOnly',
  'title',
  'writeOnly',
  'xml',
]);

const assertions: ReadonlySet<string> = new Set([
  '$ref',
  'additionalProperties',
  'allOf',
  'anyOf',
  'const',
  'contains',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'if',
  'items',
  'maxContains',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minContains',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'not',
  'nullable',
  'oneOf',
  'pattern',
  'patternProperties',
  'prefixItems',
  'properties',
  'propertyNames',
  'required',
  'then',
  'type',
  'uniqueItems',
]);

/** Keywords that say which values are valid, and are not covered whatever their value is. */
const uncoveredAlways: readonly string[] = [
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
  '$vocabulary',
  'dependencies',
  'disallow',
  'extends',
  'unevaluatedItems',
  'unevaluatedProperties',
];

/** Formats of strings that a grammar follows. */
export const stringFormats = ['date-time', 'date', 'time', 'email', 'hostname', 'uri', 'uuid', 'ipv4', 'ipv6'] as const;

export type StringFormat = (typeof stringFormats)[number];

/** Formats of numbers that OpenAPI names. They say how a program stores a value that the schema bounds by other means. */
export const numberFormats: ReadonlySet<string> = new Set(['int64', 'float', 'double']);

/** Formats that schema libraries name beside a `pattern` that says all of them. */
export const patternedFormats: ReadonlySet<string> = new Set([
  'base64',
  'base64url',
  'cidrv4',
  'cidrv6',
  'cuid',
  'cuid2',
  'duration',
  'e164',
  'ends_with',
  'guid',
  'hex',
  'includes',
  'ksuid',
  'lowercase',
  'mac',
  'nanoid',
  'regex',
  'starts_with',
  'ulid',
  'uppercase',
  'xid',
]);

const counts = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
] as const;
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
const objects = ['properties', 'patternProperties', 'dependentRequired', 'dependentSchemas'] as const;
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const strings = ['pattern', 'format', '$ref'] as const;

const typeNames: ReadonlySet<unknown> = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

const notSupported = 'this keyword is not supported';
const notNegated = 'what it does not accept cannot be written as a schema';

/** Looks at each keyword of one schema; the subschemas are only looked into where they are put the other way round. */
export function examineKeywords(schema: SchemaObject, negations: NegationCheck): KeywordFindings {
  const uncovered = [...uncoveredIn(schema, negations)];
  return { malformed: [...malformedIn(schema)], uncovered, ignored: ignoredKeywords(schema) };
}

/** The schema without the keywords of these findings. */
export function withoutKeywords(schema: SchemaObject, findings: readonly KeywordFinding[]): SchemaObject {
  if (findings.length === 0) return schema;
  const copy = { ...schema };
  for (const { keyword } of findings) delete copy[keyword];
  return copy;
}

function* malformedIn(schema: SchemaObject): Generator<KeywordFinding> {
  for (const keyword of counts) {
    const value = schema[keyword];
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= 0)) {
      yield { keyword, reason: 'must be a whole number of at least 0' };
    }
  }
  for (const keyword of numbers) {
    const value = schema[keyword];
    if (value !== undefined && !Number.isFinite(value)) yield { keyword, reason: 'must be a number' };
  }
  for (const keyword of objects) {
    if (schema[keyword] !== undefined && !isSchemaObject(schema[keyword])) {
      yield { keyword, reason: 'must be an object' };
    }
  }
  for (const keyword of lists) {
    const value = schema[keyword];
    if (value !== undefined && !(Array.isArray(value) && value.length > 0)) {
      yield { keyword, reason: 'must be a list of schemas' };
    }
  }
  for (const keyword of strings) {
    if (schema[keyword] !== undefined && typeof schema[keyword] !== 'string') {
      yield { keyword, reason: 'must be a string' };
    }
  }
  const { multipleOf, type, enum: values, required } = schema;
  if (typeof multipleOf === 'number' && multipleOf <= 0)
    yield { keyword: 'multipleOf', reason: 'must be greater than 0' };
  if (values !== undefined && !Array.isArray(values)) yield { keyword: 'enum', reason: 'must be a list' };
  if (required !== undefined && !isStringList(required)) {
    yield { keyword: 'required', reason: 'must be a list of strings' };
  }
  if (type !== undefined && !namesTypes(type)) yield { keyword: 'type', reason: 'must name types of JSON' };
}

function* uncoveredIn(schema: SchemaObject, negations: NegationCheck): Generator<KeywordFinding> {
  for (const keyword of uncoveredAlways) {
    if (schema[keyword] !== undefined) yield { keyword, reason: notSupported };
  }
  const isCovered = (part: unknown): boolean => negations.of(part).isExact;
  if (schema.not !== undefined && excludedBy(schema.not) === null && !isCovered(schema.not)) {
    yield { keyword: 'not', reason: notNegated };
  }
  if (hasCondition(schema) && !isCovered(schema.if)) yield { keyword: 'if', reason: notNegated };
  if (schema.contains !== undefined && schema.maxContains !== undefined && !isCovered(schema.contains)) {
    yield { keyword: 'maxContains', reason: notNegated };
  }
  if (schema.nullable === true && schema.type === undefined) {
    yield { keyword: 'nullable', reason: 'needs a type beside it' };
  }
}

/** Keywords of one schema, and its format, that are unknown. */
export function ignoredKeywords(schema: SchemaObject): string[] {
  const ignored = Object.keys(schema).filter(isUnknown);
  return isUnknownFormat(schema) ? [...ignored, 'format'] : ignored;
}

function isUnknown(keyword: string): boolean {
  if (annotations.has(keyword) || assertions.has(keyword) || keyword.startsWith('x-')) return false;
  return !uncoveredAlways.includes(keyword);
}

function isUnknownFormat({ format, pattern }: SchemaObject): boolean {
  if (typeof format !== 'string') return false;
  if (stringFormats.some((known) => known === format) || numberFormats.has(format)) return false;
  return !(patternedFormats.has(format) && typeof pattern === 'string');
}

/** `not` of everything, as libraries write properties that must be absent. */
export function forbidsEverything(not: unknown): boolean {
  return not === true || (isSchemaObject(not) && Object.keys(not).length === 0);
}

/** What `not` forbids of a value by itself. */
export interface Excluded {
  types: unknown[];
  values: unknown[];
  /** Patterns of strings. */
  patterns: string[];
}

/** Null where `not` is more than one keyword of types, values and patterns. */
export function excludedBy(not: unknown): Excluded | null {
  const excluded: Excluded = { types: [], values: [], patterns: [] };
  if (not === false) return excluded;
  if (!isSchemaObject(not)) return null;
  const asserted = Object.keys(not).filter((keyword) => assertions.has(keyword) || uncoveredAlways.includes(keyword));
  const [keyword] = asserted;
  if (asserted.length !== 1 || keyword === undefined) return null;
  if (keyword === 'const') return { ...excluded, values: [not.const] };
  if (keyword === 'enum') return Array.isArray(not.enum) ? { ...excluded, values: not.enum as unknown[] } : null;
  if (keyword === 'pattern' && typeof not.pattern === 'string') {
    return { ...excluded, types: notStrings, patterns: [not.pattern] };
  }
  return keyword === 'type' && namesTypes(not.type) ? { ...excluded, types: [not.type].flat() } : null;
}

const notStrings = ['null', 'boolean', 'number', 'array', 'object'];

/** Whether `if` decides anything. */
export function hasCondition({ if: condition, then, else: otherwise }: SchemaObject): boolean {
  return condition !== undefined && (then !== undefined || otherwise !== undefined);
}

function namesTypes(type: unknown): boolean {
  if (!Array.isArray(type)) return typeNames.has(type);
  return type.length > 0 && type.every((name) => typeNames.has(name));
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
