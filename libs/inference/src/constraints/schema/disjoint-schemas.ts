import type { FlatSchema } from './flat-schema.js';
import { flatten } from './flat-schema.js';
import type { SchemaDocument, SchemaNode } from './schema-document.js';
import { canonicalJson, collectFacts, type JsonType, type SchemaFacts, typeOf } from './schema-facts.js';

/** How deep members are looked into for one that tells two objects apart. */
const maxDepth = 3;

/** Whether it can be seen that no value satisfies both. Alternatives within them are left out, which only says no more often. */
export function areDisjoint(document: SchemaDocument, left: FlatSchema, right: FlatSchema, depth = 0): boolean {
  return areFactsDisjoint(document, collectFacts(document, left.nodes), collectFacts(document, right.nodes), depth);
}

function areFactsDisjoint(document: SchemaDocument, left: SchemaFacts, right: SchemaFacts, depth: number): boolean {
  const types = [...typesOf(left)].filter((type) => typesOf(right).has(type));
  return types.every((type) => {
    const [leftValues, rightValues] = [valuesOf(left, type), valuesOf(right, type)];
    if (leftValues !== null && rightValues !== null) return ![...leftValues].some((value) => rightValues.has(value));
    if (type === 'number') return isBelow(left, right) || isBelow(right, left);
    return type === 'object' && depth < maxDepth && areObjectsDisjoint(document, left, right, depth);
  });
}

function typesOf({ types, values }: SchemaFacts): ReadonlySet<JsonType> {
  return values === null ? types : new Set(values.map(typeOf));
}

function valuesOf({ values }: SchemaFacts, type: JsonType): ReadonlySet<string> | null {
  return values && new Set(values.filter((value) => typeOf(value) === type).map(canonicalJson));
}

function isBelow({ upper }: SchemaFacts, { lower }: SchemaFacts): boolean {
  if (upper === null || lower === null) return false;
  return upper.value < lower.value || (upper.value === lower.value && (upper.isExclusive || lower.isExclusive));
}

function areObjectsDisjoint(document: SchemaDocument, left: SchemaFacts, right: SchemaFacts, depth: number): boolean {
  if (forbidsRequired(left, right) || forbidsRequired(right, left)) return true;
  const shared = [...left.required].filter((name) => right.required.has(name));
  return shared.some((name) => {
    const [leftMember, rightMember] = [declared(left, name), declared(right, name)];
    if (leftMember.length === 0 || rightMember.length === 0) return false;
    const [leftFlat, rightFlat] = [leftMember, rightMember].map((nodes) =>
      flatten(
        document,
        nodes.map((node) => ({ kind: 'whole', node })),
      ),
    );
    return !leftFlat || !rightFlat || areDisjoint(document, leftFlat, rightFlat, depth + 1);
  });
}

/** Whether `closed` takes no member that `other` requires. */
function forbidsRequired(closed: SchemaFacts, other: SchemaFacts): boolean {
  return closed.members.some(
    ({ properties, patterns, additional }) =>
      additional?.value === false && patterns.length === 0 && [...other.required].some((name) => !properties.has(name)),
  );
}

function declared({ members }: SchemaFacts, name: string): SchemaNode[] {
  return members.flatMap(({ properties }) => properties.get(name) ?? []);
}
