import { isSliceOver } from '../compile-deadline.js';
import { ConstraintRefusal } from '../refusal.js';

export type SchemaObject = Readonly<Record<string, unknown>>;

/** A schema or subschema at one place of the document. One object per place. */
export interface SchemaNode {
  readonly id: number;
  readonly pointer: string;
  readonly value: SchemaObject | boolean;
}

/** Keywords that say nothing about which values are valid. */
const annotations: ReadonlySet<string> = new Set([
  '$anchor',
  '$comment',
  '$defs',
  '$schema',
  'contentEncoding',
  'contentMediaType',
  'default',
  'definitions',
  'deprecated',
  'description',
  'discriminator',
  'example',
  'examples',
  'externalDocs',
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
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
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
  'type',
  'uniqueItems',
]);

/** A schema as sent, with its references. Only references within the document are followed. */
export class SchemaDocument {
  readonly root: SchemaNode;
  /** By the schema as written: a document has each object once, and its pointers may be as long as all of it. */
  private readonly nodes = new Map<unknown, SchemaNode>();
  private anchors: ReadonlyMap<string, string> = new Map();

  constructor(private readonly schema: unknown) {
    this.root = this.at('', schema);
  }

  /** Finds what `$ref` may name by an `$anchor`. Yields when its slice is over. */
  *readAnchors(): Generator<void, void> {
    this.anchors = yield* collectAnchors(this.schema);
  }

  /** The subschema behind further steps from a node. */
  child(node: SchemaNode, ...steps: (string | number)[]): SchemaNode {
    let value: unknown = node.value;
    for (const step of steps) value = (value as Record<string, unknown>)[step];
    return this.at(`${node.pointer}${steps.map(pointerStep).join('')}`, value);
  }

  /** What `$ref` of a node names; null where it has none. */
  referenced(node: SchemaNode): SchemaNode | null {
    const reference = keywordOf(node, '$ref');
    if (reference === undefined) return null;
    const place = `${node.pointer}/$ref`;
    if (typeof reference !== 'string') throw new ConstraintRefusal('must be a string', place);
    if (!reference.startsWith('#'))
      throw new ConstraintRefusal('only references within the schema are followed', place);
    const fragment = decoded(reference.slice(1), place);
    const pointer = fragment === '' || fragment.startsWith('/') ? fragment : this.anchor(fragment, place);
    let value: unknown = this.schema;
    for (const step of pointer.split('/').slice(1).map(unescapeStep)) {
      const isContainer = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
      if (!isContainer) throw new ConstraintRefusal(`${reference.slice(0, 200)} names nothing in the schema`, place);
      value = (value as Record<string, unknown>)[step];
    }
    return this.at(pointer, value);
  }

  /** A schema that stands nowhere in the document and accepts everything or nothing. */
  constant(value: boolean): SchemaNode {
    return this.at(`!${value}`, value);
  }

  /** `true` and `false` are the same wherever they stand. */
  private at(pointer: string, written: unknown): SchemaNode {
    const known = this.nodes.get(written);
    if (known !== undefined) return known;
    const value = isObject(written) && acceptsNothing(written) ? false : written;
    if (typeof value !== 'boolean' && !isObject(value)) {
      throw new ConstraintRefusal('must be a schema: an object or a boolean', pointer || '#');
    }
    const node: SchemaNode = { id: this.nodes.size, pointer, value };
    this.nodes.set(written, node);
    if (isObject(value)) checkKeywords(node, value);
    return node;
  }

  private anchor(name: string, place: string): string {
    const pointer = this.anchors.get(name);
    if (pointer === undefined) throw new ConstraintRefusal(`there is no $anchor ${name.slice(0, 100)}`, place);
    return pointer;
  }
}

export function keywordOf(node: SchemaNode, keyword: string): unknown {
  return typeof node.value === 'boolean' ? undefined : node.value[keyword];
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function pointerStep(step: string | number): string {
  return `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function unescapeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

function decoded(fragment: string, place: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    throw new ConstraintRefusal('is not a valid URI reference', place);
  }
}

function* collectAnchors(schema: unknown): Generator<void, Map<string, string>> {
  const anchors = new Map<string, string>();
  const open: [pointer: string, value: unknown][] = [['', schema]];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const [pointer, value] = item;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (isSliceOver()) yield;
      if (key === '$anchor' && typeof member === 'string') anchors.set(member, pointer);
      open.push([`${pointer}${pointerStep(key)}`, member]);
    }
  }
  return anchors;
}

const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
const objects = ['properties', 'patternProperties'] as const;
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;

function checkKeywords(node: SchemaNode, schema: SchemaObject): void {
  const refuse = (keyword: string, reason: string): never => {
    throw new ConstraintRefusal(reason, `${node.pointer}${pointerStep(keyword)}`);
  };
  for (const keyword of Object.keys(schema)) {
    const isKnown = annotations.has(keyword) || assertions.has(keyword) || keyword.startsWith('x-');
    // The identifier of the whole document changes no reference within it.
    if (!isKnown && !(keyword === '$id' && node.pointer === '')) refuse(keyword, 'this keyword is not supported');
  }
  for (const keyword of counts) {
    const value = schema[keyword];
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= 0)) {
      refuse(keyword, 'must be a whole number of at least 0');
    }
  }
  for (const keyword of numbers) {
    const value = schema[keyword];
    if (value !== undefined && !Number.isFinite(value)) refuse(keyword, 'must be a number');
  }
  for (const keyword of objects) {
    if (schema[keyword] !== undefined && !isObject(schema[keyword])) refuse(keyword, 'must be an object');
  }
  for (const keyword of lists) {
    const value = schema[keyword];
    if (value !== undefined && !(Array.isArray(value) && value.length > 0))
      refuse(keyword, 'must be a list of schemas');
  }
  if (typeof schema.multipleOf === 'number' && schema.multipleOf <= 0) refuse('multipleOf', 'must be greater than 0');
  if (schema.not !== undefined) refuse('not', 'is only supported with {}, which forbids every value');
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) refuse('enum', 'must be a list');
  if (schema.uniqueItems !== undefined && schema.uniqueItems !== false) refuse('uniqueItems', 'is not supported');
  if (schema.required !== undefined && !isStringList(schema.required)) refuse('required', 'must be a list of strings');
  for (const keyword of ['pattern', 'format'] as const) {
    if (schema[keyword] !== undefined && typeof schema[keyword] !== 'string') refuse(keyword, 'must be a string');
  }
  if (schema.nullable === true && schema.type === undefined) refuse('nullable', 'needs a type beside it');
}

/** `not` of everything, as libraries write properties that must be absent. */
function acceptsNothing({ not }: SchemaObject): boolean {
  return not === true || (isObject(not) && Object.keys(not).length === 0);
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
