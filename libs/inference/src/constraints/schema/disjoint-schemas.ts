import { canonicalJson } from '#common/json-schema';
import { isSliceOver } from '../compile-deadline.js';
import { flatten } from './flat-schema.js';
import type { SchemaDocument, SchemaNode } from './schema-document.js';
import { collectFacts, type JsonType, type SchemaFacts, typeOf } from './schema-facts.js';

/** How deep members are looked into for one that tells two objects apart. */
const maxDepth = 3;

/** A schema with what is asked for at each comparison, found once. */
interface Compared {
  facts: SchemaFacts;
  types: ReadonlySet<JsonType>;
  /** Listed values as canonical JSON by their types; null where they are not listed. */
  values: ReadonlyMap<JsonType, ReadonlySet<string>> | null;
  /** What it says of a required member that others require too; null: nothing satisfies that. */
  members: Map<string, Compared | null>;
}

/**
 * Whether it can be seen that no value satisfies two of the schemas. Alternatives within them are left out, which only
 * says no more often. Yields when its slice is over.
 */
export function* areAllDisjoint(document: SchemaDocument, all: readonly SchemaFacts[]): Generator<void, boolean> {
  const comparison = new Comparison(document);
  const listed: Compared[] = [];
  const others: Compared[] = [];
  for (const facts of all) {
    const schema = yield* compared(facts);
    if (schema.values === null) others.push(schema);
    else listed.push(schema);
  }
  if (yield* haveEqualValues(listed)) return false;
  for (const [index, left] of others.entries()) {
    for (const rest of [others.slice(index + 1), listed]) {
      for (const right of rest) if (!(yield* comparison.areDisjoint(left, right, 0))) return false;
    }
  }
  return true;
}

/** Whether two of the lists have a value in common. One set of all values says so: pairs of lists may be millions. */
function* haveEqualValues(lists: readonly Compared[]): Generator<void, boolean> {
  const found = new Set<string>();
  for (const { values } of lists) {
    for (const some of values?.values() ?? []) {
      for (const value of some) {
        if (isSliceOver()) yield;
        if (found.has(value)) return true;
        found.add(value);
      }
    }
  }
  return false;
}

class Comparison {
  constructor(private readonly document: SchemaDocument) {}

  *areDisjoint(left: Compared, right: Compared, depth: number): Generator<void, boolean> {
    if (isSliceOver()) yield;
    for (const type of left.types) {
      if (!right.types.has(type)) continue;
      const [leftValues, rightValues] = [left.values?.get(type), right.values?.get(type)];
      if (leftValues !== undefined && rightValues !== undefined) {
        for (const value of leftValues) {
          if (isSliceOver()) yield;
          if (rightValues.has(value)) return false;
        }
      } else if (type === 'number') {
        if (!isBelow(left.facts, right.facts) && !isBelow(right.facts, left.facts)) return false;
      } else if (type !== 'object' || depth >= maxDepth) return false;
      else if (!(yield* this.areObjectsDisjoint(left, right, depth))) return false;
    }
    return true;
  }

  private *areObjectsDisjoint(left: Compared, right: Compared, depth: number): Generator<void, boolean> {
    if (forbidsRequired(left.facts, right.facts) || forbidsRequired(right.facts, left.facts)) return true;
    for (const name of left.facts.required) {
      if (isSliceOver()) yield;
      if (!right.facts.required.has(name) || !isDeclared(left.facts, name) || !isDeclared(right.facts, name)) continue;
      const [leftMember, rightMember] = [yield* this.member(left, name), yield* this.member(right, name)];
      if (leftMember === null || rightMember === null) return true;
      if (yield* this.areDisjoint(leftMember, rightMember, depth + 1)) return true;
    }
    return false;
  }

  private *member(of: Compared, name: string): Generator<void, Compared | null> {
    const known = of.members.get(name);
    if (known !== undefined) return known;
    const nodes = declared(of.facts, name);
    const flat = yield* flatten(
      this.document,
      nodes.map((node) => ({ kind: 'whole', node })),
    );
    const found = flat && (yield* compared(yield* collectFacts(this.document, flat.nodes)));
    of.members.set(name, found);
    return found;
  }
}

function* compared(facts: SchemaFacts): Generator<void, Compared> {
  if (facts.values === null) return { facts, types: facts.types, values: null, members: new Map() };
  const values = new Map<JsonType, Set<string>>();
  for (const value of facts.values) {
    if (isSliceOver()) yield;
    const type = typeOf(value);
    const known = values.get(type) ?? new Set();
    values.set(type, known.add(canonicalJson(value)));
  }
  return { facts, types: new Set(values.keys()), values, members: new Map() };
}

function isBelow({ upper }: SchemaFacts, { lower }: SchemaFacts): boolean {
  if (upper === null || lower === null) return false;
  return upper.value < lower.value || (upper.value === lower.value && (upper.isExclusive || lower.isExclusive));
}

/** Whether `closed` takes no member that `other` requires. */
function forbidsRequired(closed: SchemaFacts, other: SchemaFacts): boolean {
  return closed.members.some(
    ({ properties, patterns, additional }) =>
      additional?.value === false && patterns.length === 0 && [...other.required].some((name) => !properties.has(name)),
  );
}

function isDeclared({ members }: SchemaFacts, name: string): boolean {
  return members.some(({ properties }) => properties.has(name));
}

function declared({ members }: SchemaFacts, name: string): SchemaNode[] {
  return members.flatMap(({ properties }) => properties.get(name) ?? []);
}
