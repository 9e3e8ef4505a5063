import { checkDeadline, isSliceOver } from '../compile-deadline.js';
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
  checkDeadline(parts.length);
  const keys = parts.map((part) =>
    part.kind === 'group' ? `${part.keyword}${part.node.id}` : `${part.kind}${part.node.id}`,
  );
  return [...new Set(keys)].sort().join(' ');
}

/**
 * Null where nothing satisfies the parts. Throws a refusal for a `$ref` that leads to itself. Yields when its slice is
 * over.
 */
export function* flatten(document: SchemaDocument, parts: readonly SchemaPart[]): Generator<void, FlatSchema | null> {
  const flattener = new Flattener(document);
  for (const part of parts) {
    if (isSliceOver()) yield;
    if (part.kind === 'whole') yield* flattener.enter(part.node);
    else if (part.kind === 'own') flattener.nodes.add(part.node);
    else flattener.groups.set(`${part.keyword}${part.node.id}`, part);
  }
  const { isImpossible, nodes, groups } = flattener;
  return isImpossible ? null : { nodes: [...nodes], groups: [...groups.values()] };
}

class Flattener {
  readonly nodes = new Set<SchemaNode>();
  readonly groups = new Map<string, SchemaGroup>();
  isImpossible = false;
  private readonly path = new Set<SchemaNode>();
  private readonly entered = new Set<SchemaNode>();

  constructor(private readonly document: SchemaDocument) {}

  *enter(node: SchemaNode): Generator<void, void> {
    const { document, path, entered } = this;
    if (path.has(node)) throw new ConstraintRefusal('$ref leads back to itself', node.pointer || '#');
    if (node.value === false) this.isImpossible = true;
    // Once is enough: references may lead to one schema in more ways than can be counted.
    if (typeof node.value === 'boolean' || entered.has(node)) return;
    entered.add(node);
    if (isSliceOver()) yield;
    this.nodes.add(node);
    path.add(node);
    const referenced = document.referenced(node);
    if (referenced !== null) yield* this.enter(referenced);
    for (let index = 0; index < branchCount(node, 'allOf'); index++) {
      yield* this.enter(document.child(node, 'allOf', index));
    }
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      if (branchCount(node, keyword) > 0) yield* this.addGroup(node, keyword);
    }
    path.delete(node);
  }

  private *addGroup(node: SchemaNode, keyword: SchemaGroup['keyword']): Generator<void, void> {
    const branches: SchemaNode[] = [];
    for (let index = 0; index < branchCount(node, keyword); index++) {
      if (isSliceOver()) yield;
      branches.push(this.document.child(node, keyword, index));
    }
    this.groups.set(`${keyword}${node.id}`, { kind: 'group', keyword, node, branches });
  }
}

function branchCount(node: SchemaNode, keyword: string): number {
  const list = keywordOf(node, keyword);
  return Array.isArray(list) ? list.length : 0;
}
