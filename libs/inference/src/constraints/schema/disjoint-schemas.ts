import { canonicalJson } from '#common/json-schema';
import { checkDeadline, isSliceOver } from '../compile-deadline.js';
import { flatten, type SchemaPart } from './flat-schema.js';
import type { SchemaDocument, SchemaNode } from './schema-document.js';
import { collectFacts, type JsonType, type SchemaFacts, schemasOfItem, typeOf } from './schema-facts.js';

/** How deep members are looked into for one that tells two objects apart. */
const maxDepth = 3;

/** A schema with what is asked for at each comparison, found once. */
interface Compared {
  facts: SchemaFacts;
  types: ReadonlySet<JsonType>;
  /** Values that are forbidden, as canonical JSON. */
  excluded: ReadonlySet<string>;
  /** Listed values as canonical JSON by their types; null where they are not listed. */
  values: ReadonlyMap<JsonType, ReadonlySet<string>> | null;
  /** What it says of a required member that others require too; null: nothing satisfies that. */
  members: Map<string, Compared | null>;
  /** What it says of the first item of a list. */
  item?: Compared | null;
}

/**
 * The pairs of the schemas, by their positions, of which it cannot be seen that no value satisfies both; null where there
 * are more than `most`. Alternatives within them are left out, which only finds more. Yields when its slice is over.
 */
export function* findOverlaps(
  document: SchemaDocument,
  all: readonly SchemaFacts[],
  most: number,
): Generator<void, [number, number][] | null> {
  const comparison = new Comparison(document);
  const schemas: Compared[] = [];
  for (const facts of all) schemas.push(yield* compared(facts));
  const found = yield* findEqualValues(schemas, most);
  // Two listed ones are compared above: of thousands of constants, the pairs alone take too long.
  for (const [index, left] of schemas.entries()) {
    if (left.values !== null) continue;
    for (const [other, right] of schemas.entries()) {
      const isCompared = right.values === null && other <= index;
      if (isCompared) continue;
      if (!(yield* comparison.areDisjoint(left, right, 0)))
        found.push([Math.min(index, other), Math.max(index, other)]);
      if (found.length > most) return null;
    }
  }
  return found.length > most ? null : found;
}

/** Those of the alternatives that some value may satisfy that keeps `facts`. Yields when its slice is over. */
export function* alternativesBeside(
  document: SchemaDocument,
  facts: SchemaFacts,
  alternatives: readonly SchemaNode[],
): Generator<void, SchemaNode[]> {
  const comparison = new Comparison(document);
  const base = yield* compared(facts);
  const kept: SchemaNode[] = [];
  for (const node of alternatives) {
    const flat = yield* flatten(document, [{ kind: 'whole', node }]);
    if (flat === null) continue;
    const other = yield* compared(yield* collectFacts(document, flat.nodes));
    if (!(yield* comparison.areDisjoint(base, other, 0))) kept.push(node);
  }
  return kept;
}

/** Pairs of lists with a value in common. One map of all values finds them: pairs of lists may be millions. */
function* findEqualValues(schemas: readonly Compared[], most: number): Generator<void, [number, number][]> {
  const positions = new Map<string, number[]>();
  const found = new Map<string, [number, number]>();
  for (const [index, { values }] of schemas.entries()) {
    for (const some of values?.values() ?? []) {
      for (const value of some) {
        if (isSliceOver()) yield;
        const known = positions.get(value) ?? [];
        for (const other of known) found.set(`${other} ${index}`, [other, index]);
        if (found.size > most) return [...found.values()];
        positions.set(value, [...known, index]);
      }
    }
  }
  return [...found.values()];
}

class Comparison {
  constructor(private readonly document: SchemaDocument) {}

  *areDisjoint(left: Compared, right: Compared, depth: number): Generator<void, boolean> {
    if (isSliceOver()) yield;
    for (const type of left.types) {
      if (!right.types.has(type)) continue;
      const leftValues = possibleValues(left, right, type);
      const rightValues = possibleValues(right, left, type);
      if (leftValues?.length === 0 || rightValues?.length === 0) continue;
      if (leftValues !== null && rightValues !== null) {
        const known = new Set(leftValues);
        for (const value of rightValues) {
          if (isSliceOver()) yield;
          if (known.has(value)) return false;
        }
      } else if (!(yield* this.areTypesDisjoint(type, [left, right], depth))) return false;
    }
    return true;
  }

  /** Of the values of one type that both may have. */
  private *areTypesDisjoint(
    type: JsonType,
    [left, right]: [Compared, Compared],
    depth: number,
  ): Generator<void, boolean> {
    if (type === 'null' || type === 'boolean') return false;
    if (isOneBelow(type, left.facts, right.facts) || isOneBelow(type, right.facts, left.facts)) return true;
    if (type === 'number')
      return areKindsDisjoint(left.facts, right.facts) || areKindsDisjoint(right.facts, left.facts);
    if (depth >= maxDepth) return false;
    if (type === 'array') return yield* this.areListsDisjoint(left, right, depth);
    return type === 'object' && (yield* this.areObjectsDisjoint(left, right, depth));
  }

  private *areListsDisjoint(left: Compared, right: Compared, depth: number): Generator<void, boolean> {
    if (Math.max(left.facts.minItems, right.facts.minItems) === 0) return false;
    const [leftItem, rightItem] = [yield* this.item(left), yield* this.item(right)];
    if (leftItem === null || rightItem === null) return true;
    return yield* this.areDisjoint(leftItem, rightItem, depth + 1);
  }

  private *areObjectsDisjoint(left: Compared, right: Compared, depth: number): Generator<void, boolean> {
    if (forbidsRequired(left.facts, right.facts) || forbidsRequired(right.facts, left.facts)) return true;
    if (lacksOther(left.facts, right.facts) || lacksOther(right.facts, left.facts)) return true;
    for (const name of new Set([...left.facts.required, ...right.facts.required])) {
      if (isSliceOver()) yield;
      if (!isDeclared(left.facts, name) && !isDeclared(right.facts, name)) continue;
      const [leftMember, rightMember] = [yield* this.member(left, name), yield* this.member(right, name)];
      if (leftMember === null || rightMember === null) return true;
      if (yield* this.areDisjoint(leftMember, rightMember, depth + 1)) return true;
    }
    return false;
  }

  /** What is said of the first item. */
  private *item(of: Compared): Generator<void, Compared | null> {
    if (of.item === undefined) of.item = yield* this.all(schemasOfItem(of.facts, 0));
    return of.item;
  }

  private *member(of: Compared, name: string): Generator<void, Compared | null> {
    const known = of.members.get(name);
    if (known !== undefined) return known;
    const found = yield* this.all(declared(of.facts, name));
    of.members.set(name, found);
    return found;
  }

  /** Null where nothing satisfies all of the schemas. */
  private *all(nodes: readonly SchemaNode[]): Generator<void, Compared | null> {
    const parts = nodes.map((node): SchemaPart => ({ kind: 'whole', node }));
    const flat = yield* flatten(this.document, parts);
    return flat && (yield* compared(yield* collectFacts(this.document, flat.nodes)));
  }
}

/** The listed values of a type that the other schema does not exclude; null where they are not listed. */
function possibleValues(of: Compared, other: Compared, type: JsonType): string[] | null {
  if (of.values === null) return null;
  const values = [...(of.values.get(type) ?? [])];
  checkDeadline(values.length);
  return values.filter((value) => !other.excluded.has(value));
}

function* compared(facts: SchemaFacts): Generator<void, Compared> {
  const excluded = new Set<string>();
  for (const { value } of facts.excluded) {
    if (isSliceOver()) yield;
    excluded.add(canonicalJson(value));
  }
  if (facts.values === null) return { facts, excluded, types: facts.types, values: null, members: new Map() };
  const values = new Map<JsonType, Set<string>>();
  for (const value of facts.values) {
    if (isSliceOver()) yield;
    const type = typeOf(value);
    const known = values.get(type) ?? new Set();
    values.set(type, known.add(canonicalJson(value)));
  }
  return { facts, excluded, types: new Set(values.keys()), values, members: new Map() };
}

/** Whether each value of the type that one schema allows is smaller than those of the other one. */
function isOneBelow(type: JsonType, small: SchemaFacts, large: SchemaFacts): boolean {
  if (type === 'string') return small.maxLength < large.minLength;
  if (type === 'array') return small.maxItems < large.minItems;
  if (type === 'object') return small.maxProperties < large.minProperties;
  const [{ upper }, { lower }] = [small, large];
  if (upper === null || lower === null) return false;
  return upper.value < lower.value || (upper.value === lower.value && (upper.isExclusive || lower.isExclusive));
}

function areKindsDisjoint({ integersOnly }: SchemaFacts, { fractionsOnly }: SchemaFacts): boolean {
  return integersOnly && fractionsOnly;
}

/** Whether `closed` takes no member that `other` requires. */
function forbidsRequired(closed: SchemaFacts, other: SchemaFacts): boolean {
  return closed.members.some(
    ({ properties, patterns, additional }) =>
      additional?.value === false && patterns.length === 0 && [...other.required].some((name) => !properties.has(name)),
  );
}

/** Whether `closed` takes no member that `other` wants beside those that it names. */
function lacksOther(closed: SchemaFacts, other: SchemaFacts): boolean {
  return closed.members.some(
    ({ properties, patterns, additional }) =>
      additional?.value === false &&
      patterns.length === 0 &&
      other.otherMembers.some(({ names }) => [...properties.keys()].every((name) => names.has(name))),
  );
}

function isDeclared({ members }: SchemaFacts, name: string): boolean {
  return members.some(({ properties }) => properties.has(name));
}

function declared({ members }: SchemaFacts, name: string): SchemaNode[] {
  return members.flatMap(({ properties }) => properties.get(name) ?? []);
}
