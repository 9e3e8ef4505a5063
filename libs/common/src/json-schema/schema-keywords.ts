import { isSchemaObject, type SchemaObject } from './schema-forms.js';

/* What each keyword of one schema is worth to a grammar. Schemas here are in the form of `modernSchema`. */

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
  'dependentRequired',
  'dependentSchemas',
  'else',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'if',
  'items',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
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
  'contains',
  'dependencies',
  'disallow',
  'extends',
  'maxContains',
  'minContains',
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

const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
const objects = ['properties', 'patternProperties', 'dependentRequired', 'dependentSchemas'] as const;
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const strings = ['pattern', 'format', '$ref'] as const;

const typeNames: ReadonlySet<unknown> = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

const notSupported = 'this keyword is not supported';

/** Looks at each keyword of one schema; the subschemas are not looked into. */
export function examineKeywords(schema: SchemaObject): KeywordFindings {
  return { malformed: [...malformedIn(schema)], uncovered: [...uncoveredIn(schema)], ignored: ignoredIn(schema) };
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

function* uncoveredIn(schema: SchemaObject): Generator<KeywordFinding> {
  for (const keyword of uncoveredAlways) {
    if (schema[keyword] !== undefined) yield { keyword, reason: notSupported };
  }
  if (schema.not !== undefined && !forbidsEverything(schema.not) && excludedBy(schema.not) === null) {
    yield { keyword: 'not', reason: 'is only supported with {}, type, const and enum' };
  }
  if (hasCondition(schema) && alternativesTo(schema.if) === null) {
    yield { keyword: 'if', reason: 'is only supported with properties, required, type, const and enum' };
  }
  if (schema.uniqueItems !== undefined && schema.uniqueItems !== false && !areItemsStrings(schema)) {
    yield { keyword: 'uniqueItems', reason: 'is only supported for items that are strings' };
  }
  if (schema.nullable === true && schema.type === undefined) {
    yield { keyword: 'nullable', reason: 'needs a type beside it' };
  }
}

/** Whether the items of a list are visibly strings, which a text keeps apart, or at most one. */
function areItemsStrings({ items, prefixItems, maxItems }: SchemaObject): boolean {
  if (typeof maxItems === 'number' && maxItems <= 1) return true;
  if (!isSchemaObject(items) || prefixItems !== undefined) return false;
  if (lists.some((keyword) => items[keyword] !== undefined) || items.$ref !== undefined) return false;
  const { type, enum: values, const: constant } = items;
  if (type !== undefined) return type === 'string';
  if (Array.isArray(values)) return values.every((value) => typeof value === 'string');
  return typeof constant === 'string';
}

function ignoredIn(schema: SchemaObject): string[] {
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

/** What `not` forbids; null where it is more than types or values. */
export function excludedBy(not: unknown): { types: unknown[]; values: unknown[] } | null {
  if (not === false) return { types: [], values: [] };
  if (!isSchemaObject(not)) return null;
  const asserted = Object.keys(not).filter((keyword) => assertions.has(keyword) || uncoveredAlways.includes(keyword));
  const [keyword] = asserted;
  if (asserted.length !== 1 || keyword === undefined) return null;
  if (keyword === 'const') return { types: [], values: [not.const] };
  if (keyword === 'enum') return Array.isArray(not.enum) ? { types: [], values: not.enum as unknown[] } : null;
  if (keyword !== 'type' || !namesTypes(not.type)) return null;
  const types: unknown[] = [not.type].flat();
  return types.includes('integer') && !types.includes('number') ? null : { types, values: [] };
}

/** What a condition may be: alternatives to it, and members within members. */
const maxAlternatives = 256;
const maxConditionDepth = 8;

/** Whether `if` decides anything. */
export function hasCondition({ if: condition, then, else: otherwise }: SchemaObject): boolean {
  return condition !== undefined && (then !== undefined || otherwise !== undefined);
}

/**
 * Schemas of which one at least holds exactly for the values that `schema` does not accept; null where that takes more
 * keywords than are covered.
 */
export function alternativesTo(schema: unknown, depth = 0): SchemaObject[] | null {
  if (typeof schema === 'boolean') return schema ? [] : [{}];
  if (!isSchemaObject(schema) || depth > maxConditionDepth) return null;
  const alternatives: SchemaObject[] = [];
  for (const keyword of Object.keys(schema)) {
    const others = alternativesToKeyword(keyword, schema[keyword], depth);
    if (others === null || alternatives.length + others.length > maxAlternatives) return null;
    alternatives.push(...others);
  }
  return alternatives;
}

function alternativesToKeyword(keyword: string, value: unknown, depth: number): SchemaObject[] | null {
  if (keyword === 'const' || keyword === 'enum' || keyword === 'type') {
    const not = { [keyword]: value };
    return excludedBy(not) === null ? null : [{ not }];
  }
  if (keyword === 'required') {
    if (!isStringList(value)) return null;
    return value.map((name) => ({ type: 'object', properties: { [name]: false } }));
  }
  if (keyword === 'properties') return isSchemaObject(value) ? alternativesToMembers(value, depth) : null;
  return assertions.has(keyword) || uncoveredAlways.includes(keyword) ? null : [];
}

/** A member that is there and is not as it should be. */
function alternativesToMembers(properties: SchemaObject, depth: number): SchemaObject[] | null {
  const alternatives: SchemaObject[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    const others = alternativesTo(schema, depth + 1);
    if (others === null || alternatives.length > maxAlternatives) return null;
    for (const other of others) alternatives.push({ type: 'object', required: [name], properties: { [name]: other } });
  }
  return alternatives;
}

function namesTypes(type: unknown): boolean {
  if (!Array.isArray(type)) return typeNames.has(type);
  return type.length > 0 && type.every((name) => typeNames.has(name));
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
