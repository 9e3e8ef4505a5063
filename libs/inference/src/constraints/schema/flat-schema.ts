import { checkDeadline } from '../compile-deadline.js';
import { ConstraintRefusal } from '../refusal.js';
import { keywordOf, type SchemaDocument, type SchemaNode } from './schema-document.js';

/** Something that a value must satisfy. */
export type SchemaPart =
  /** A schema with everything that it refers to. */
  | { kind: 'whole'; node: SchemaNode }
  /** What a schema says itself, without `$ref`, `allOf`, `anyOf` and `oneOf`. */
  | { kind: 'own'; node: SchemaNode }
  | SchemaGroup;

/** Alternatives of a schema: one branch at least must hold, of `oneOf` exactly one. */
export interface SchemaGroup {
  kind: 'group';
  keyword: 'anyOf' | 'oneOf';
  node: SchemaNode;
  branches: readonly SchemaNode[];
}

/** Parts that must all hold, with references and `allOf` resolved. */
export interface FlatSchema {
  nodes: SchemaNode[];
  groups: SchemaGroup[];
}

/** Equal for parts that say the same. */
export function keyOf(parts: readonly SchemaPart[]): string {
  const keys = parts.map((part) =>
    part.kind === 'group' ? `${part.keyword}${part.node.id}` : `${part.kind}${part.node.id}`,
  );
  return [...new Set(keys)].sort().join(' ');
}

/** Null where nothing satisfies the parts. Throws a refusal for a `$ref` that leads to itself. */
export function flatten(document: SchemaDocument, parts: readonly SchemaPart[]): FlatSchema | null {
  const nodes = new Set<SchemaNode>();
  const groups = new Map<string, SchemaGroup>();
  const path = new Set<SchemaNode>();
  const entered = new Set<SchemaNode>();
  let isImpossible = false;
  const enter = (node: SchemaNode): void => {
    if (path.has(node)) throw new ConstraintRefusal('$ref leads back to itself', node.pointer || '#');
    if (node.value === false) isImpossible = true;
    // Once is enough: references may lead to one schema in more ways than can be counted.
    if (typeof node.value === 'boolean' || entered.has(node)) return;
    entered.add(node);
    checkDeadline();
    nodes.add(node);
    path.add(node);
    const referenced = document.referenced(node);
    if (referenced !== null) enter(referenced);
    for (const index of branchIndexes(node, 'allOf')) enter(document.child(node, 'allOf', index));
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const branches = branchIndexes(node, keyword).map((index) => document.child(node, keyword, index));
      if (branches.length > 0) groups.set(`${keyword}${node.id}`, { kind: 'group', keyword, node, branches });
    }
    path.delete(node);
  };
  for (const part of parts) {
    if (part.kind === 'whole') enter(part.node);
    else if (part.kind === 'own') nodes.add(part.node);
    else groups.set(`${part.keyword}${part.node.id}`, part);
  }
  return isImpossible ? null : { nodes: [...nodes], groups: [...groups.values()] };
}

function branchIndexes(node: SchemaNode, keyword: string): number[] {
  const list = keywordOf(node, keyword);
  return Array.isArray(list) ? [...list.keys()] : [];
}
