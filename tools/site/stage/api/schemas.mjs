import { cell } from './cells.mjs';

/* Schemas of an OpenAPI document as tables of fields. A schema with a name has a heading, and types link to it. */

const prefix = '#/components/schemas/';
/** Nested objects without a name appear as dotted fields, down to this depth. */
const maxDepth = 4;

/** Name of the schema that a reference leads to. */
export const nameOf = (schema) => (schema?.$ref?.startsWith(prefix) ? schema.$ref.slice(prefix.length) : undefined);

/** Names of the schemas that a part of the document refers to, at any distance. */
export function namesIn(part, schemas, names = new Set()) {
  if (typeof part !== 'object' || part === null) return names;
  const name = nameOf(part);
  if (name !== undefined && !names.has(name)) {
    names.add(name);
    namesIn(schemas[name], schemas, names);
  }
  for (const member of Object.values(part)) namesIn(member, schemas, names);
  return names;
}

/** The type of a schema as Markdown; `link` returns the address of a named schema. */
export function typeOf(schema, link) {
  const name = nameOf(schema);
  if (name !== undefined) return `[${name}](${link(name)})`;
  const alternatives = schema.oneOf ?? schema.anyOf;
  const nullable = schema.nullable ? ' or null' : '';
  if (alternatives) return [...new Set(alternatives.map((one) => typeOf(one, link)))].join(' or ') + nullable;
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, link)).join(' and ') + nullable;
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ') + nullable;
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {}, link)}${nullable}`;
  if (isMap(schema)) return `object of ${typeOf(schema.additionalProperties, link)}${nullable}`;
  return (schema.format ? `${schema.type} (${schema.format})` : (schema.type ?? 'any')) + nullable;
}

const isMap = ({ additionalProperties: values }) => typeof values === 'object' && Object.keys(values).length > 0;

/** Limits of a value, in words. */
function limitsOf(schema) {
  const limits = [
    ['minimum', (value) => `at least ${value}`],
    ['exclusiveMinimum', (value) => (typeof value === 'number' ? `more than ${value}` : '')],
    ['maximum', (value) => `at most ${value}`],
    ['minLength', (value) => `at least ${value} characters`],
    ['maxLength', (value) => `at most ${value} characters`],
    ['minItems', (value) => `at least ${value} items`],
    ['maxItems', (value) => `at most ${value} items`],
    ['pattern', (value) => `matches \`${value}\``],
    ['default', (value) => `default \`${JSON.stringify(value)}\``],
  ];
  const words = limits.flatMap(([key, say]) => (schema[key] === undefined ? [] : [say(schema[key])]));
  return words.filter((word) => word !== '').join(', ');
}

/** Description, limits and whether the field is on its way out. */
function aboutOf(schema) {
  const limits = limitsOf(schema);
  const about = [schema.deprecated ? 'Deprecated.' : '', schema.description ?? '', limits && `${capital(limits)}.`];
  return about.filter((part) => part !== '').join(' ');
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** The object behind a field whose members are shown with it: without a name of its own, perhaps in a list. */
function membersOf(schema) {
  if (schema.properties) return { object: schema, suffix: '' };
  if (schema.items?.properties) return { object: schema.items, suffix: '[]' };
  return undefined;
}

function rowsOf(object, link, path = '', depth = 1) {
  const required = new Set(object.required ?? []);
  return Object.entries(object.properties ?? {}).flatMap(([name, schema]) => {
    const field = path === '' ? name : `${path}.${name}`;
    const row = [`\`${field}\``, typeOf(schema, link), required.has(name) ? 'yes' : '', aboutOf(schema)];
    const members = depth < maxDepth ? membersOf(schema) : undefined;
    return [row, ...(members ? rowsOf(members.object, link, `${field}${members.suffix}`, depth + 1) : [])];
  });
}

/** A table of the fields of an object, or a sentence where the schema is none. */
export function describeSchema(schema, link) {
  const rows = rowsOf(schema, link);
  if (rows.length === 0) return `${cell(typeOf(schema, link))}. ${cell(aboutOf(schema))}`.trim();
  return table(['Field', 'Type', 'Required', 'Description'], rows);
}

/** A Markdown table; columns without any content are left out. */
export function table(heads, rows) {
  const used = heads.map((_head, column) => column).filter((column) => rows.some((row) => row[column] !== ''));
  const line = (cells) => `| ${used.map((column) => cells[column]).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map((row) => line(row.map(cell)))].join('\n');
}
