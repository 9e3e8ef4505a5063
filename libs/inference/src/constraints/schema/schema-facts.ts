import { canonicalJson, excludedBy, type OtherMember, otherMember } from '#common/json-schema';
import { checkDeadline, isSliceOver } from '../compile-deadline.js';
import { ConstraintRefusal } from '../refusal.js';
import { flatten } from './flat-schema.js';
import { formatPattern } from './formats.js';
import type { Bound } from './number-ranges.js';
import { isObject, keywordOf, type SchemaDocument, type SchemaNode } from './schema-document.js';

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

const jsonTypes: readonly JsonType[] = ['null', 'boolean', 'number', 'string', 'array', 'object'];

/** What one schema says about the members of an object. */
export interface MemberFacts {
  properties: ReadonlyMap<string, SchemaNode>;
  /** `place` is the pointer of the pattern. */
  patterns: { pattern: string; place: string; schema: SchemaNode }[];
  /** Null where it says nothing. */
  additional: SchemaNode | null;
}

/** What one schema says about the items of a list. */
export interface ItemFacts {
  prefix: SchemaNode[];
  /** Null where it says nothing. */
  items: SchemaNode | null;
}

/** What one schema says about how many items match another one. */
export interface ContainedFacts {
  schema: SchemaNode;
  min: number;
  max: number;
  /** Of the keyword. */
  pointer: string;
}

/** A pattern that is found in a string, or that is not. */
export interface PatternFacts {
  pattern: string;
  pointer: string;
  isForbidden: boolean;
}

/** All that a set of schemas says together about a value that satisfies each of them, but for their alternatives. */
export interface SchemaFacts {
  pointer: string;
  types: Set<JsonType>;
  /** Numbers without a fraction only. */
  integersOnly: boolean;
  /** Numbers with a fraction only. */
  fractionsOnly: boolean;
  /** The only values; null where they are not listed. */
  values: unknown[] | null;
  /** Pointer of the keyword that lists them; empty: none does. */
  listedAt: string;
  /** Values that `not` forbids, with the pointers of those keywords. */
  excluded: { value: unknown; pointer: string }[];
  lower: Bound | null;
  upper: Bound | null;
  multiples: { value: number; pointer: string }[];
  minLength: number;
  maxLength: number;
  patterns: PatternFacts[];
  members: MemberFacts[];
  /** Each wants a member beside those that it names. */
  otherMembers: OtherMember[];
  required: Set<string>;
  minProperties: number;
  maxProperties: number;
  items: ItemFacts[];
  minItems: number;
  maxItems: number;
  contained: ContainedFacts[];
  /** Pointer of the keyword that says that no item comes twice; null: nothing does. */
  uniqueItems: string | null;
}

/** Yields when its slice is over. */
export function* collectFacts(document: SchemaDocument, nodes: readonly SchemaNode[]): Generator<void, SchemaFacts> {
  const facts: SchemaFacts = {
    pointer: nodes[0]?.pointer ?? '',
    types: new Set(jsonTypes),
    integersOnly: false,
    fractionsOnly: false,
    values: null,
    listedAt: '',
    excluded: [],
    lower: null,
    upper: null,
    multiples: [],
    minLength: 0,
    maxLength: Infinity,
    patterns: [],
    members: [],
    otherMembers: [],
    required: new Set(),
    minProperties: 0,
    maxProperties: Infinity,
    items: [],
    minItems: 0,
    maxItems: Infinity,
    contained: [],
    uniqueItems: null,
  };
  for (const node of nodes) {
    if (isSliceOver(8)) yield;
    addTypes(facts, node);
    yield* addValues(facts, node);
    yield* addExcluded(facts, node);
    addNumbers(facts, node);
    addStrings(facts, node);
    yield* addMembers(facts, document, node);
    yield* addNames(facts, document, node);
    yield* addItems(facts, document, node);
  }
  const { values } = facts;
  if (values !== null) {
    const excluded = new Set(facts.excluded.map(({ value }) => canonicalJson(value)));
    const isPossible = (value: unknown): boolean => !excluded.has(canonicalJson(value));
    facts.values = yield* filtered(values, (value) => isPossible(value) && fits(facts, document, value));
  }
  return facts;
}

function addTypes(facts: SchemaFacts, node: SchemaNode): void {
  const type = keywordOf(node, 'type');
  if (type === undefined) return;
  const names: unknown[] = Array.isArray(type) ? [...type] : [type];
  if (keywordOf(node, 'nullable') === true) names.push('null');
  const place = `${node.pointer}/type`;
  const known = (name: unknown): boolean => name === 'integer' || jsonTypes.some((type) => type === name);
  if (names.length === 0 || !names.every(known)) throw new ConstraintRefusal('must name types of JSON', place);
  for (const type of facts.types) {
    const isNamed = names.includes(type) || (type === 'number' && names.includes('integer'));
    if (!isNamed) facts.types.delete(type);
  }
  if (names.includes('integer') && !names.includes('number')) facts.integersOnly = true;
}

function* addValues(facts: SchemaFacts, node: SchemaNode): Generator<void, void> {
  const lists: unknown[][] = [];
  const listed = keywordOf(node, 'enum');
  if (Array.isArray(listed)) lists.push(listed);
  if (isObject(node.value) && Object.hasOwn(node.value, 'const')) lists.push([node.value.const]);
  if (lists.length > 0) facts.listedAt = `${node.pointer}/${Array.isArray(listed) ? 'enum' : 'const'}`;
  for (const list of lists) {
    const keys = new Map<string, unknown>();
    for (const value of list) {
      if (isSliceOver()) yield;
      keys.set(canonicalJson(value), value);
    }
    if (facts.values === null) facts.values = [...keys.values()];
    else facts.values = yield* filtered(facts.values, (value) => keys.has(canonicalJson(value)));
  }
}

function* addExcluded(facts: SchemaFacts, node: SchemaNode): Generator<void, void> {
  const not = keywordOf(node, 'not');
  const excluded = not === undefined ? null : excludedBy(not);
  if (excluded === null) return;
  for (const type of excluded.types) {
    if (type === 'integer') facts.fractionsOnly = true;
    else facts.types.delete(type as JsonType);
  }
  for (const pattern of excluded.patterns) {
    facts.patterns.push({ pattern, pointer: `${node.pointer}/not/pattern`, isForbidden: true });
  }
  for (const value of excluded.values) {
    if (isSliceOver()) yield;
    facts.excluded.push({ value, pointer: `${node.pointer}/not` });
  }
}

function* filtered(values: readonly unknown[], keeps: (value: unknown) => boolean): Generator<void, unknown[]> {
  const kept: unknown[] = [];
  for (const value of values) {
    if (isSliceOver()) yield;
    if (keeps(value)) kept.push(value);
  }
  return kept;
}

function addNumbers(facts: SchemaFacts, node: SchemaNode): void {
  const bound = (keyword: string, isExclusive: boolean): Bound | null => {
    const value = keywordOf(node, keyword);
    return typeof value === 'number' ? { value, isExclusive } : null;
  };
  for (const lower of [bound('minimum', false), bound('exclusiveMinimum', true)]) {
    if (lower !== null && (facts.lower === null || isStricter(lower, facts.lower, 1))) facts.lower = lower;
  }
  for (const upper of [bound('maximum', false), bound('exclusiveMaximum', true)]) {
    if (upper !== null && (facts.upper === null || isStricter(upper, facts.upper, -1))) facts.upper = upper;
  }
  const multiple = keywordOf(node, 'multipleOf');
  if (typeof multiple === 'number') facts.multiples.push({ value: multiple, pointer: `${node.pointer}/multipleOf` });
}

function isStricter(bound: Bound, than: Bound, direction: 1 | -1): boolean {
  const difference = (bound.value - than.value) * direction;
  return difference > 0 || (difference === 0 && bound.isExclusive);
}

function addStrings(facts: SchemaFacts, node: SchemaNode): void {
  facts.minLength = Math.max(facts.minLength, countOf(node, 'minLength') ?? 0);
  facts.maxLength = Math.min(facts.maxLength, countOf(node, 'maxLength') ?? Infinity);
  const pattern = keywordOf(node, 'pattern');
  if (typeof pattern === 'string')
    facts.patterns.push({ pattern, pointer: `${node.pointer}/pattern`, isForbidden: false });
  const format = keywordOf(node, 'format');
  const known = typeof format === 'string' ? formatPattern(format) : null;
  if (known !== null) facts.patterns.push({ pattern: known, pointer: `${node.pointer}/format`, isForbidden: false });
}

function* addMembers(facts: SchemaFacts, document: SchemaDocument, node: SchemaNode): Generator<void, void> {
  facts.minProperties = Math.max(facts.minProperties, countOf(node, 'minProperties') ?? 0);
  facts.maxProperties = Math.min(facts.maxProperties, countOf(node, 'maxProperties') ?? Infinity);
  const required = keywordOf(node, 'required');
  if (Array.isArray(required)) for (const name of required) facts.required.add(String(name));
  const other =
    typeof node.value === 'boolean' ? undefined : (node.value as { [otherMember]?: OtherMember })[otherMember];
  if (other !== undefined) facts.otherMembers.push(other);
  const hasAdditional = keywordOf(node, 'additionalProperties') !== undefined;
  const properties = new Map<string, SchemaNode>();
  for (const name of namesInOrder(node)) {
    if (isSliceOver(2)) yield;
    properties.set(name, document.child(node, 'properties', name));
  }
  const patterns: MemberFacts['patterns'] = [];
  for (const pattern of Object.keys(keywordOf(node, 'patternProperties') ?? {})) {
    if (isSliceOver(2)) yield;
    const schema = document.child(node, 'patternProperties', pattern);
    patterns.push({ pattern, place: schema.pointer, schema });
  }
  if (properties.size === 0 && patterns.length === 0 && !hasAdditional) return;
  const additional = hasAdditional ? document.child(node, 'additionalProperties') : null;
  facts.members.push({ properties, patterns, additional });
}

/** The names of `properties`. JavaScript moves those like integers to the front, which the body parser makes up for. */
function namesInOrder(node: SchemaNode): Iterable<string> {
  const properties = keywordOf(node, 'properties') ?? {};
  const order = keywordOf(node, 'x-property-order');
  const first = Array.isArray(order) ? order.filter((name) => Object.hasOwn(properties, String(name))) : [];
  return new Set([...first.map(String), ...Object.keys(properties)]);
}

/** A name that `propertyNames` does not accept is that of no member. */
function* addNames(facts: SchemaFacts, document: SchemaDocument, node: SchemaNode): Generator<void, void> {
  if (keywordOf(node, 'propertyNames') === undefined) return;
  const schema = document.child(node, 'propertyNames');
  const flat = yield* flatten(document, [{ kind: 'whole', node: schema }]);
  if (flat !== null && flat.groups.length > 0) {
    return document.leaveOut('alternatives of names are only supported as enum or pattern', schema.pointer);
  }
  const names = flat && (yield* collectFacts(document, flat.nodes));
  const anything = document.constant(true);
  const only = (properties: readonly string[], patterns: MemberFacts['patterns']): void =>
    void facts.members.push({
      properties: new Map(properties.map((name) => [name, anything])),
      patterns,
      additional: document.constant(false),
    });
  if (names === null || !names.types.has('string')) return only([], []);
  if (names.values !== null) {
    const listed = names.values.filter((value) => typeof value === 'string');
    only(listed, []);
  }
  const nothing = document.constant(false);
  for (const { pattern, pointer: place, isForbidden } of names.patterns) {
    if (!isForbidden) only([], [{ pattern, place, schema: anything }]);
    else
      facts.members.push({ properties: new Map(), patterns: [{ pattern, place, schema: nothing }], additional: null });
  }
  const excluded = names.excluded.map(({ value }) => value).filter((value) => typeof value === 'string');
  const forbidden = new Map(excluded.map((name) => [name, nothing]));
  if (forbidden.size > 0) facts.members.push({ properties: forbidden, patterns: [], additional: null });
  const { minLength, maxLength } = names;
  if (names.values !== null) return;
  if (minLength === 0 && maxLength === Infinity) return;
  const pattern = `^[^]{${minLength},${maxLength === Infinity ? '' : maxLength}}$`;
  only([], [{ pattern, place: schema.pointer, schema: anything }]);
}

function* addItems(facts: SchemaFacts, document: SchemaDocument, node: SchemaNode): Generator<void, void> {
  facts.minItems = Math.max(facts.minItems, countOf(node, 'minItems') ?? 0);
  facts.maxItems = Math.min(facts.maxItems, countOf(node, 'maxItems') ?? Infinity);
  if (keywordOf(node, 'uniqueItems') === true) facts.uniqueItems ??= `${node.pointer}/uniqueItems`;
  addContained(facts, document, node);
  const prefix = keywordOf(node, 'prefixItems');
  const hasItems = keywordOf(node, 'items') !== undefined;
  if (prefix === undefined && !hasItems) return;
  const items: SchemaNode[] = [];
  for (let index = 0; Array.isArray(prefix) && index < prefix.length; index++) {
    if (isSliceOver(2)) yield;
    items.push(document.child(node, 'prefixItems', index));
  }
  facts.items.push({ prefix: items, items: hasItems ? document.child(node, 'items') : null });
}

function addContained({ contained }: SchemaFacts, document: SchemaDocument, node: SchemaNode): void {
  if (keywordOf(node, 'contains') === undefined) return;
  const schema = document.child(node, 'contains');
  const [min, max] = [countOf(node, 'minContains') ?? 1, countOf(node, 'maxContains') ?? Infinity];
  if (min === 0 && max === Infinity) return;
  const isKnown = contained.some((known) => known.schema === schema && known.min === min && known.max === max);
  if (!isKnown) contained.push({ schema, min, max, pointer: `${node.pointer}/contains` });
}

function countOf(node: SchemaNode, keyword: string): number | undefined {
  const value = keywordOf(node, keyword);
  return typeof value === 'number' ? value : undefined;
}

/** Whether a listed value keeps what else is said, but for patterns and multiples. */
function fits(facts: SchemaFacts, document: SchemaDocument, value: unknown): boolean {
  const type = typeOf(value);
  if (!facts.types.has(type)) return false;
  if (typeof value === 'number') return fitsNumber(facts, value);
  if (typeof value === 'string') return fitsString(facts, value);
  if (type === 'array' || type === 'object') leaveOutBesideList(facts, document, type);
  return true;
}

function fitsNumber({ lower, upper, integersOnly, fractionsOnly }: SchemaFacts, value: number): boolean {
  if (Number.isInteger(value) ? fractionsOnly : integersOnly) return false;
  if (lower !== null && (value < lower.value || (lower.isExclusive && value === lower.value))) return false;
  return upper === null || value < upper.value || (!upper.isExclusive && value === upper.value);
}

function fitsString({ minLength, maxLength }: SchemaFacts, value: string): boolean {
  const length = [...value].length;
  return length >= minLength && length <= maxLength;
}

function leaveOutBesideList(facts: SchemaFacts, document: SchemaDocument, type: 'array' | 'object'): void {
  const isSaid =
    type === 'array'
      ? facts.items.length > 0 ||
        facts.contained.length > 0 ||
        facts.minItems > 0 ||
        facts.maxItems < Infinity ||
        facts.uniqueItems !== null
      : facts.members.length > 0 ||
        facts.otherMembers.length > 0 ||
        facts.required.size > 0 ||
        facts.minProperties > 0 ||
        facts.maxProperties < Infinity;
  if (isSaid) document.leaveOut(`enum and const of an ${type} are not supported beside other keywords`, facts.listedAt);
}

export function typeOf(value: unknown): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' ? type : 'object';
}

/** The schemas that hold for a member named `name`; `matches` says whether a pattern is found in it. */
export function schemasOfMember(
  facts: SchemaFacts,
  name: string,
  matches: (pattern: string, place: string) => boolean,
): SchemaNode[] {
  checkDeadline(facts.members.length);
  return facts.members.flatMap(({ properties, patterns, additional }) => {
    const found = patterns.filter(({ pattern, place }) => matches(pattern, place));
    const schemas = found.map(({ schema }) => schema);
    const declared = properties.get(name);
    if (declared !== undefined) schemas.push(declared);
    if (schemas.length === 0 && additional !== null) schemas.push(additional);
    return schemas;
  });
}

/** The schemas of the item at `index`. */
export function schemasOfItem({ items }: SchemaFacts, index: number): SchemaNode[] {
  return items.flatMap(({ prefix, items: rest }) => prefix[index] ?? rest ?? []);
}
