import { isSchemaObject, modernSchema, type SchemaObject } from './schema-forms.js';
import { type StringFormat, stringFormats } from './schema-keywords.js';
import type { SchemaReferences } from './schema-references.js';

/** What the values are that a schema does not accept. */
export interface Negation {
  /** Schemas that accept no value which it accepts. */
  alternatives: readonly SchemaObject[];
  /** Whether each value that it does not accept satisfies one of them. */
  isExact: boolean;
}

/** Marks a generated schema: the object has a member beside those that are named, whose value satisfies `value`. */
export const otherMember = Symbol('other member');

export interface OtherMember {
  /** Names and patterns of names that such a member does not have. */
  names: ReadonlySet<string>;
  patterns: readonly string[];
  /** What its value satisfies. */
  value: SchemaObject;
}

/** Bounds of what is generated: alternatives to one schema, schemas within each other, and schemas of one document. */
const maxAlternatives = 256;
const maxDepth = 12;
const maxSchemas = 10_000;

const nothing: Negation = { alternatives: [], isExact: true };
const everything: Negation = { alternatives: [{}], isExact: true };
const unknown: Negation = { alternatives: [], isExact: false };

/** Patterns of which a string that lacks them is of no format of that name, whichever validator looks at it. */
const formatTraits: Record<StringFormat, string> = {
  'date-time': '^[0-9]{4}-[0-9]{2}-[0-9]{2}[^]',
  date: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
  time: ':',
  email: '@',
  hostname: '^[^:/@ ]*$',
  uri: ':',
  uuid: '[0-9A-Fa-f]{12}$',
  ipv4: '^[0-9.]+$',
  ipv6: ':',
};

/** A bound of how much there is: its keyword, the type, and the keyword and number of the bound on the other side. */
const countBounds = [
  ['minLength', 'string', 'maxLength', -1],
  ['maxLength', 'string', 'minLength', 1],
  ['minItems', 'array', 'maxItems', -1],
  ['maxItems', 'array', 'minItems', 1],
  ['minProperties', 'object', 'maxProperties', -1],
  ['maxProperties', 'object', 'minProperties', 1],
] as const;

const numberBounds = [
  ['minimum', 'exclusiveMaximum'],
  ['maximum', 'exclusiveMinimum'],
  ['exclusiveMinimum', 'maximum'],
  ['exclusiveMaximum', 'minimum'],
] as const;

/** Keywords whose negation is not written as a schema, and that leave the rest of it as it is. */
const opaque = [
  'multipleOf',
  'uniqueItems',
  'patternProperties',
  'propertyNames',
  'minContains',
  'maxContains',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$dynamicRef',
  '$recursiveRef',
  'disallow',
  'extends',
] as const;

type Rule = (schema: SchemaObject, negation: (schema: unknown) => Negation) => Negation;

/** Puts the schemas of one document the other way round, each once. Generated schemas are in the words of draft 2020-12. */
export class SchemaNegations {
  private readonly known = new Map<SchemaObject, Negation>();

  constructor(private readonly references: SchemaReferences) {}

  of(schema: unknown, depth = 0): Negation {
    if (typeof schema === 'boolean') return schema ? nothing : everything;
    if (!isSchemaObject(schema) || depth > maxDepth) return unknown;
    const known = this.known.get(schema);
    if (known !== undefined) return known;
    if (this.known.size >= maxSchemas) return unknown;
    // While it is looked at: what leads back to it is not followed.
    this.known.set(schema, unknown);
    const found = this.ofObject(schema, depth);
    this.known.set(schema, found);
    return found;
  }

  private ofObject(written: SchemaObject, depth: number): Negation {
    const schema = modernSchema(written);
    const inner = (part: unknown): Negation => this.of(part, depth + 1);
    const found = rules.map((rule) => rule(schema, inner));
    if (schema.$ref !== undefined) found.push(this.ofReference(schema.$ref, { written, depth }));
    return union(found);
  }

  private ofReference(reference: unknown, { written, depth }: { written: SchemaObject; depth: number }): Negation {
    const target = typeof reference === 'string' ? this.references.resolve(reference, written) : 'nowhere';
    return typeof target === 'string' ? unknown : this.of(target.value, depth + 1);
  }
}

/** A value of which some part is not accepted is not accepted. Parts beyond the bound are not looked at. */
function union(all: Iterable<Negation>): Negation {
  const alternatives: SchemaObject[] = [];
  let isExact = true;
  for (const negation of all) {
    if (alternatives.length >= maxAlternatives) return { alternatives, isExact: false };
    isExact &&= negation.isExact && alternatives.length + negation.alternatives.length <= maxAlternatives;
    alternatives.push(...negation.alternatives.slice(0, maxAlternatives - alternatives.length));
  }
  return { alternatives, isExact };
}

function exactly(...alternatives: SchemaObject[]): Negation {
  return { alternatives, isExact: true };
}

/** Each alternative as `wrap` writes it. */
function mapped({ alternatives, isExact }: Negation, wrap: (schema: SchemaObject) => SchemaObject): Negation {
  return { alternatives: alternatives.map(wrap), isExact };
}

/** One schema for all alternatives. */
function anyOf(alternatives: readonly SchemaObject[]): SchemaObject {
  const [only] = alternatives;
  return alternatives.length === 1 && only !== undefined ? only : { anyOf: alternatives };
}

/** None of the schemas accepts the value. */
function intersection(all: readonly Negation[]): Negation {
  const isExact = all.every((negation) => negation.isExact);
  if (all.some(({ alternatives }) => alternatives.length === 0)) return { alternatives: [], isExact };
  return { alternatives: [{ allOf: all.map(({ alternatives }) => anyOf(alternatives)) }], isExact };
}

function schemasOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

function membersOf(value: unknown): [string, unknown][] {
  return isSchemaObject(value) ? Object.entries(value) : [];
}

/** The object has a member `name`, whose value satisfies `schema`. */
function having(name: string, schema: unknown): SchemaObject {
  return { type: 'object', required: [name], properties: Object.fromEntries([[name, schema]]) };
}

function lacking(name: string): SchemaObject {
  return { type: 'object', properties: Object.fromEntries([[name, false]]) };
}

function typeNames({ type, nullable }: SchemaObject): unknown[] {
  return nullable === true ? [type, 'null'].flat() : [type].flat();
}

const ofValues: Rule = (schema) => {
  const found: SchemaObject[] = [];
  if (schema.type !== undefined) found.push({ not: { type: typeNames(schema) } });
  const lists = [...(Array.isArray(schema.enum) ? [schema.enum as unknown[]] : [])];
  if (Object.hasOwn(schema, 'const')) lists.push([schema.const]);
  for (const list of lists) {
    if (!list.every((value) => isScalar(value))) return { alternatives: found, isExact: false };
    found.push({ not: { enum: list } });
  }
  return exactly(...found);
};

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

const ofStrings: Rule = ({ pattern, format }) => {
  const found: SchemaObject[] = [];
  if (typeof pattern === 'string') found.push({ type: 'string', not: { pattern } });
  const known = stringFormats.find((name) => name === format);
  if (known === undefined) return exactly(...found);
  return { alternatives: [...found, { type: 'string', not: { pattern: formatTraits[known] } }], isExact: false };
};

const ofBounds: Rule = (schema) => {
  const found: SchemaObject[] = [];
  for (const [keyword, type, other, step] of countBounds) {
    const count = schema[keyword];
    if (typeof count === 'number' && count + step >= 0) found.push({ type, [other]: count + step });
  }
  for (const [keyword, other] of numberBounds) {
    const bound = schema[keyword];
    if (typeof bound === 'number') found.push({ type: 'number', [other]: bound });
  }
  return exactly(...found);
};

const ofPrefix: Rule = ({ prefixItems, items }, negation) => {
  const prefix = schemasOf(prefixItems);
  function* found(): Generator<Negation> {
    if (items === false) yield exactly({ type: 'array', minItems: prefix.length + 1 });
    for (const [index, schema] of prefix.entries()) {
      const before = Array.from({ length: index }, () => true);
      yield mapped(negation(schema), (other) => ({
        ...{ type: 'array', minItems: index + 1, prefixItems: [...before, other] },
      }));
    }
  }
  return prefix.length > maxAlternatives ? unknown : union(found());
};

const ofItems: Rule = ({ prefixItems, items }, negation) => {
  if (typeof items === 'boolean' || items === undefined) return nothing;
  if (prefixItems !== undefined) return unknown;
  const { alternatives, isExact } = negation(items);
  return { alternatives: alternatives.length > 0 ? [{ type: 'array', contains: anyOf(alternatives) }] : [], isExact };
};

const ofContained: Rule = ({ contains, minContains }, negation) => {
  if (contains === undefined || minContains !== undefined) return nothing;
  const { alternatives, isExact } = negation(contains);
  const items = alternatives.length > 0 ? anyOf(alternatives) : false;
  return { alternatives: [{ type: 'array', items }], isExact };
};

const ofMembers: Rule = ({ required, properties }, negation) => {
  function* found(): Generator<Negation> {
    for (const name of schemasOf(required)) yield exactly(lacking(String(name)));
    for (const [name, value] of membersOf(properties)) {
      yield mapped(negation(value), (other) => having(name, other));
    }
  }
  return union(found());
};

const ofOtherMembers: Rule = ({ properties, patternProperties, additionalProperties }, negation) => {
  if (additionalProperties === undefined) return nothing;
  const { alternatives: values, isExact } = negation(additionalProperties);
  if (values.length === 0) return { alternatives: [], isExact };
  const names = new Set(membersOf(properties).map(([name]) => name));
  const patterns = membersOf(patternProperties).map(([pattern]) => pattern);
  const other: OtherMember = { names, patterns, value: anyOf(values) };
  return { alternatives: [{ type: 'object', [otherMember]: other }], isExact };
};

const ofDependencies: Rule = ({ dependentRequired, dependentSchemas }, negation) => {
  function* found(): Generator<Negation> {
    for (const [name, needed] of membersOf(dependentRequired)) {
      for (const other of schemasOf(needed)) yield exactly({ allOf: [having(name, true), lacking(String(other))] });
    }
    for (const [name, schema] of membersOf(dependentSchemas)) {
      yield mapped(negation(schema), (other) => ({ allOf: [having(name, true), other] }));
    }
  }
  return union(found());
};

const ofCombinations: Rule = (schema, negation) => {
  function* found(): Generator<Negation> {
    for (const part of schemasOf(schema.allOf)) yield negation(part);
    if (schema.anyOf !== undefined) yield intersection(schemasOf(schema.anyOf).map(negation));
    if (schema.oneOf !== undefined) yield* ofOneOf(schemasOf(schema.oneOf), negation);
    if (schema.not !== undefined) yield exactly({ allOf: [schema.not] });
  }
  return union(found());
};

/** No branch holds, or two do. */
function* ofOneOf(branches: readonly unknown[], negation: (schema: unknown) => Negation): Generator<Negation> {
  yield intersection(branches.map(negation));
  for (const [index, left] of branches.entries()) {
    for (const right of branches.slice(index + 1, index + maxAlternatives)) yield exactly({ allOf: [left, right] });
  }
}

const ofConditions: Rule = ({ if: condition, then, else: otherwise }, negation) => {
  if (condition === undefined) return nothing;
  function* found(): Generator<Negation> {
    if (then !== undefined) yield mapped(negation(then), (other) => ({ allOf: [condition, other] }));
    if (otherwise !== undefined) yield intersection([negation(condition), negation(otherwise)]);
  }
  return union(found());
};

const ofOpaque: Rule = (schema) =>
  opaque.some((keyword) => schema[keyword] !== undefined && schema[keyword] !== false) ? unknown : nothing;

const rules: readonly Rule[] = [
  ofValues,
  ofStrings,
  ofBounds,
  ofPrefix,
  ofItems,
  ofContained,
  ofMembers,
  ofOtherMembers,
  ofDependencies,
  ofCombinations,
  ofConditions,
  ofOpaque,
];
