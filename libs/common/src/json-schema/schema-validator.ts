import { isSchemaObject, modernSchema, type SchemaObject, writtenKeyword } from './schema-forms.js';
import type { SchemaNote } from './check-schema.js';
import { pointerStep, SchemaReferences } from './schema-references.js';

/** Looks at a schema for a value; beyond, a value counts as not examined. */
const maxSteps = 100_000;
/** Schemas within each other; references may lead in circles. */
const maxDepth = 200;

/** What a schema says of a value. `isSure` is false where some of it was not looked at. */
interface Validation {
  violation: SchemaNote | null;
  isSure: boolean;
}

const valid: Validation = { violation: null, isSure: true };
const unsure: Validation = { violation: null, isSure: false };

/** A schema at its place. */
interface Place {
  pointer: string;
  written: unknown;
}

/** A check of some keywords of one schema. */
type Check = (schema: SchemaObject, value: unknown, at: PlaceOf) => Validation;
type PlaceOf = (keyword: string, ...steps: Step[]) => Place;
type Step = string | number;

/** Values that were examined up to the bound. */
class Exhausted extends Error {}

/**
 * Examines values against a schema. `pattern`, `format`, `unevaluatedItems` and `unevaluatedProperties` are not looked
 * at: patterns of clients may take exponential time.
 */
export class SchemaValidator {
  private readonly references: SchemaReferences;
  private readonly isRead: Generator<void, void>;
  private readonly read = new Map<SchemaObject, SchemaObject>();
  private steps = 0;
  private depth = 0;

  constructor(private readonly schema: unknown) {
    this.references = new SchemaReferences(schema);
    this.isRead = this.references.read(() => false);
  }

  /** The first keyword that the value surely violates; null where there is none, or where looking takes too long. */
  violationOf(value: unknown): SchemaNote | null {
    for (const _ of this.isRead);
    this.steps = 0;
    this.depth = 0;
    try {
      return this.validate({ pointer: '', written: this.schema }, value).violation;
    } catch (error) {
      if (error instanceof Exhausted || error instanceof RangeError) return null;
      throw error;
    }
  }

  private validate({ pointer, written }: Place, value: unknown): Validation {
    if (written === false) return violated(pointer || '/', 'no value is valid here');
    if (!isSchemaObject(written)) return valid;
    this.count();
    if (this.depth >= maxDepth) throw new Exhausted();
    const schema = this.modern(written);
    const at = (keyword: string, ...steps: Step[]): Place => ({
      pointer: `${pointer}${[writtenKeyword(written, keyword), ...steps].map(pointerStep).join('')}`,
      written: steps.reduce<unknown>((held, step) => (held as SchemaObject)[step], schema[keyword]),
    });
    this.depth++;
    const result = this.all(this.results(schema, value, { written, at }));
    this.depth--;
    return result.violation === null && hasUnexamined(schema) ? unsure : result;
  }

  private *results(
    schema: SchemaObject,
    value: unknown,
    { written, at }: { written: SchemaObject; at: PlaceOf },
  ): Generator<Validation> {
    if (typeof schema.$ref === 'string') yield this.reference(schema.$ref, written, value);
    for (const check of this.checks) yield check(schema, value, at);
  }

  private listed(schema: SchemaObject, value: unknown, at: PlaceOf): Validation {
    if (Array.isArray(schema.enum)) this.count(schema.enum.length);
    return checkListed(schema, value, at);
  }

  /** Each schema once: one may hold for thousands of items. */
  private modern(written: SchemaObject): SchemaObject {
    const schema = this.read.get(written) ?? modernSchema(written);
    this.read.set(written, schema);
    return schema;
  }

  private count(steps = 1): void {
    this.steps += steps;
    if (this.steps > maxSteps) throw new Exhausted();
  }

  private readonly checks: readonly Check[] = [
    (schema, value, at) => this.listed(schema, value, at),
    checkBounds,
    (schema, value, at) => this.combinations(schema, value, at),
    (schema, value, at) => this.conditions(schema, value, at),
    (schema, value, at) => (Array.isArray(value) ? this.items(schema, value, at) : valid),
    (schema, value, at) => (Array.isArray(value) ? this.contained(schema, value, at) : valid),
    (schema, value, at) => (isSchemaObject(value) ? this.members(schema, value, at) : valid),
    (schema, value, at) => (isSchemaObject(value) ? this.dependents(schema, value, at) : valid),
  ];

  private all(results: Iterable<Validation>): Validation {
    let isSure = true;
    for (const result of results) {
      if (result.violation !== null) return result;
      isSure &&= result.isSure;
    }
    return isSure ? valid : unsure;
  }

  private reference(reference: string, from: SchemaObject, value: unknown): Validation {
    const found = this.references.resolve(reference, from);
    return typeof found === 'string' ? unsure : this.validate({ pointer: found.pointer, written: found.value }, value);
  }

  private combinations(schema: SchemaObject, value: unknown, at: PlaceOf): Validation {
    const branches = (keyword: 'allOf' | 'anyOf' | 'oneOf'): Validation[] | null => {
      const list = schema[keyword];
      return Array.isArray(list) ? list.map((_, index) => this.validate(at(keyword, index), value)) : null;
    };
    return this.all([
      this.all(branches('allOf') ?? []),
      oneAtLeast(branches('anyOf'), at('anyOf').pointer),
      exactlyOne(branches('oneOf'), at('oneOf').pointer),
      schema.not === undefined ? valid : opposite(this.validate(at('not'), value), at('not').pointer),
    ]);
  }

  private conditions(schema: SchemaObject, value: unknown, at: PlaceOf): Validation {
    if (schema.if === undefined) return valid;
    const condition = this.validate(at('if'), value);
    if (condition.violation === null && !condition.isSure) return unsure;
    const branch = condition.violation === null ? 'then' : 'else';
    return schema[branch] === undefined ? valid : this.validate(at(branch), value);
  }

  private items(schema: SchemaObject, value: readonly unknown[], at: PlaceOf): Validation {
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0;
    const results = value.map((item, index) => {
      if (index < prefix) return this.validate(at('prefixItems', index), item);
      return schema.items === undefined ? valid : this.validate(at('items'), item);
    });
    return this.all(results);
  }

  private contained(schema: SchemaObject, value: readonly unknown[], at: PlaceOf): Validation {
    if (schema.uniqueItems === true && new Set(value.map((item) => this.key(item))).size < value.length) {
      return violated(at('uniqueItems').pointer, 'two items are equal');
    }
    if (schema.contains === undefined) return valid;
    const results = value.map((item) => this.validate(at('contains'), item));
    const possible = results.filter(({ violation }) => violation === null).length;
    const certain = results.filter(({ violation, isSure }) => violation === null && isSure).length;
    if (possible < numberOr(schema.minContains, 1)) return violated(at('contains').pointer, 'too few items match');
    if (certain > numberOr(schema.maxContains, Infinity)) {
      return violated(at('maxContains').pointer, 'too many items match');
    }
    return possible === certain ? valid : unsure;
  }

  private members(schema: SchemaObject, value: SchemaObject, at: PlaceOf): Validation {
    const { properties, patternProperties, additionalProperties, required, propertyNames } = schema;
    const names = Object.keys(value);
    if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) {
      return violated(at('required').pointer, 'a property is missing');
    }
    const hasPatterns = isSchemaObject(patternProperties) && Object.keys(patternProperties).length > 0;
    const results = names.map((name) => {
      if (isSchemaObject(properties) && Object.hasOwn(properties, name)) {
        return this.validate(at('properties', name), value[name]);
      }
      if (hasPatterns) return unsure;
      return additionalProperties === undefined ? valid : this.validate(at('additionalProperties'), value[name]);
    });
    if (propertyNames !== undefined) results.push(...names.map((name) => this.validate(at('propertyNames'), name)));
    return this.all([...results, hasPatterns ? unsure : valid]);
  }

  private dependents(schema: SchemaObject, value: SchemaObject, at: PlaceOf): Validation {
    const { dependentRequired, dependentSchemas } = schema;
    this.count(sizeOf(dependentRequired) + sizeOf(dependentSchemas));
    for (const [name, needed] of Object.entries(isSchemaObject(dependentRequired) ? dependentRequired : {})) {
      const isMissing = Array.isArray(needed) && needed.some((other) => !Object.hasOwn(value, String(other)));
      if (Object.hasOwn(value, name) && isMissing) {
        return violated(at('dependentRequired').pointer, 'a property is missing');
      }
    }
    const names = Object.keys(isSchemaObject(dependentSchemas) ? dependentSchemas : {});
    const present = names.filter((name) => Object.hasOwn(value, name));
    return this.all(present.map((name) => this.validate(at('dependentSchemas', name), value)));
  }

  private key(item: unknown): string {
    this.count();
    return canonicalJson(item);
  }
}

function violated(pointer: string, reason: string): Validation {
  return { violation: { pointer, reason }, isSure: true };
}

function sizeOf(members: unknown): number {
  return isSchemaObject(members) ? Object.keys(members).length : 0;
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

/** Whether the schema has keywords of its own that are not looked at. */
function hasUnexamined(schema: SchemaObject): boolean {
  return ['pattern', 'format', 'unevaluatedItems', 'unevaluatedProperties', '$dynamicRef', '$recursiveRef'].some(
    (keyword) => schema[keyword] !== undefined,
  );
}

function oneAtLeast(branches: readonly Validation[] | null, pointer: string): Validation {
  if (branches === null || branches.some(({ violation, isSure }) => violation === null && isSure)) return valid;
  if (branches.some(({ violation }) => violation === null)) return unsure;
  return violated(pointer, 'no branch matches');
}

function exactlyOne(branches: readonly Validation[] | null, pointer: string): Validation {
  if (branches === null) return valid;
  const possible = branches.filter(({ violation }) => violation === null);
  const certain = possible.filter(({ isSure }) => isSure).length;
  if (possible.length === 0) return violated(pointer, 'no branch matches');
  if (certain > 1) return violated(pointer, 'more than one branch matches');
  return possible.length === 1 && certain === 1 ? valid : unsure;
}

function opposite({ violation, isSure }: Validation, pointer: string): Validation {
  if (violation !== null) return valid;
  return isSure ? violated(pointer, 'the value matches') : unsure;
}

const checkListed: Check = (schema, value, at) => {
  const { type, nullable, const: constant, enum: listed } = schema;
  const types: unknown[] = type === undefined ? [] : [type].flat();
  const isOfType = types.some((name) => isOf(name, value)) || (nullable === true && value === null);
  if (types.length > 0 && !isOfType) return violated(at('type').pointer, 'the value has another type');
  if (constant !== undefined && canonicalJson(constant) !== canonicalJson(value)) {
    return violated(at('const').pointer, 'the value is another one');
  }
  if (Array.isArray(listed)) {
    const key = canonicalJson(value);
    if (!listed.some((item) => canonicalJson(item) === key)) {
      return violated(at('enum').pointer, 'the value is not listed');
    }
  }
  return valid;
};

function isOf(type: unknown, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isSchemaObject(value);
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}

/** Bounds of what is counted: its keywords and how to count. */
const counted = [
  ['minLength', 'maxLength', (value: unknown) => (typeof value === 'string' ? codePoints(value) : null)],
  ['minItems', 'maxItems', (value: unknown) => (Array.isArray(value) ? value.length : null)],
  ['minProperties', 'maxProperties', (value: unknown) => (isSchemaObject(value) ? Object.keys(value).length : null)],
] as const;

const checkBounds: Check = (schema, value, at) => {
  for (const [min, max, count] of counted) {
    if (schema[min] === undefined && schema[max] === undefined) continue;
    const size = count(value);
    if (size === null) continue;
    if (size < numberOr(schema[min], 0)) return violated(at(min).pointer, 'the value is too short');
    if (size > numberOr(schema[max], Infinity)) return violated(at(max).pointer, 'the value is too long');
  }
  return typeof value === 'number' ? checkNumber(schema, value, at) : valid;
};

function checkNumber(schema: SchemaObject, value: number, at: PlaceOf): Validation {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (value < numberOr(minimum, -Infinity)) return violated(at('minimum').pointer, 'the value is too small');
  if (value > numberOr(maximum, Infinity)) return violated(at('maximum').pointer, 'the value is too large');
  if (value <= numberOr(exclusiveMinimum, -Infinity)) {
    return violated(at('exclusiveMinimum').pointer, 'the value is too small');
  }
  if (value >= numberOr(exclusiveMaximum, Infinity)) {
    return violated(at('exclusiveMaximum').pointer, 'the value is too large');
  }
  const quotient = value / numberOr(multipleOf, value || 1);
  // Quotients of decimals are rarely exact: 0.3 / 0.1 is 2.9999999999999996.
  const isMultiple = Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
  return isMultiple ? valid : violated(at('multipleOf').pointer, 'the value is no multiple');
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** JSON with the members of each object in order of their names: equal for equal values. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isSchemaObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join(',')}}`;
}
