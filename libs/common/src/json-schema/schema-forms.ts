/* Forms of older drafts, rewritten to those of draft 2020-12, one schema at a time. */

export type SchemaObject = Readonly<Record<string, unknown>>;

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Members = Record<string, unknown>;

/** Each rewrites its form in a copy of the schema. */
const rewrites: readonly ((schema: Members) => void)[] = [
  tuples,
  (schema) => exclusive(schema, 'exclusiveMinimum', 'minimum'),
  (schema) => exclusive(schema, 'exclusiveMaximum', 'maximum'),
  dependencies,
  ownRequired,
  (schema) => renamed(schema, 'divisibleBy', 'multipleOf'),
  anyType,
];

/**
 * The same schema in the words of draft 2020-12; its subschemas stay as they are. The schema itself where it has no
 * older form.
 */
export function modernSchema(schema: SchemaObject): SchemaObject {
  if (!hasOlderForm(schema)) return schema;
  const copy = { ...schema };
  for (const rewrite of rewrites) rewrite(copy);
  return copy;
}

/** The keyword under which a schema writes what `modernSchema` names `keyword`. */
export function writtenKeyword(schema: SchemaObject, keyword: string): string {
  const isTuple = Array.isArray(schema.items);
  if (keyword === 'prefixItems' && isTuple) return 'items';
  if (keyword === 'items' && isTuple) return 'additionalItems';
  const isDependency = keyword === 'dependentSchemas' || keyword === 'dependentRequired';
  return isDependency && schema[keyword] === undefined ? 'dependencies' : keyword;
}

function hasOlderForm(schema: SchemaObject): boolean {
  const { type, items, required, properties, exclusiveMinimum, exclusiveMaximum } = schema;
  if (Array.isArray(items) || typeof required === 'boolean') return true;
  if (typeof exclusiveMinimum === 'boolean' || typeof exclusiveMaximum === 'boolean') return true;
  if (type === 'any' || (Array.isArray(type) && type.includes('any'))) return true;
  if (['additionalItems', 'dependencies', 'divisibleBy'].some((keyword) => schema[keyword] !== undefined)) return true;
  return isSchemaObject(properties) && Object.values(properties).some(isRequiredMember);
}

/** `items` as a list and `additionalItems`, which says nothing without such a list. */
function tuples(schema: Members): void {
  const { items, additionalItems } = schema;
  delete schema.additionalItems;
  if (!Array.isArray(items)) return;
  delete schema.items;
  if (items.length > 0) schema.prefixItems = items;
  if (additionalItems !== undefined) schema.items = additionalItems;
}

/** Draft 4 has a flag beside the bound. */
function exclusive(schema: Members, flag: string, bound: string): void {
  const isExclusive = schema[flag];
  if (typeof isExclusive !== 'boolean') return;
  delete schema[flag];
  if (!isExclusive || schema[bound] === undefined) return;
  schema[flag] = schema[bound];
  delete schema[bound];
}

function dependencies(schema: Members): void {
  const { dependencies: written } = schema;
  if (!isSchemaObject(written)) return;
  delete schema.dependencies;
  const entries = Object.entries(written).map(([name, value]) => [name, typeof value === 'string' ? [value] : value]);
  const isList = ([, value]: unknown[]): boolean => Array.isArray(value);
  const required = entries.filter(isList);
  const schemas = entries.filter((entry) => !isList(entry));
  if (required.length > 0) merge(schema, 'dependentRequired', Object.fromEntries(required));
  if (schemas.length > 0) merge(schema, 'dependentSchemas', Object.fromEntries(schemas));
}

function merge(schema: Members, keyword: string, members: object): void {
  schema[keyword] = isSchemaObject(schema[keyword]) ? { ...members, ...schema[keyword] } : members;
}

/** Draft 3 says within each property whether it is required. */
function ownRequired(schema: Members): void {
  const { required, properties } = schema;
  if (typeof required === 'boolean') delete schema.required;
  if (!isSchemaObject(properties)) return;
  const names = Object.keys(properties).filter((name) => isRequiredMember(properties[name]));
  if (names.length === 0) return;
  const others: unknown[] = Array.isArray(required) ? required : [];
  schema.required = [...new Set([...others, ...names])];
}

function isRequiredMember(schema: unknown): boolean {
  return isSchemaObject(schema) && schema.required === true;
}

function renamed(schema: Members, older: string, keyword: string): void {
  if (schema[older] === undefined) return;
  if (schema[keyword] === undefined) schema[keyword] = schema[older];
  delete schema[older];
}

/** Draft 3 names every type `any`. */
function anyType(schema: Members): void {
  const { type } = schema;
  if (type === 'any' || (Array.isArray(type) && type.includes('any'))) delete schema.type;
}
