/*
 * Breaks an OpenAPI document down into facts, one line each: `POST /x request: temperature maximum=2`. Two documents
 * are equivalent if their facts are equal, however they arrange their schemas.
 */

type Json = Record<string, unknown>;

export interface OpenapiDocument {
  paths: Record<string, Json>;
  components?: { schemas?: Record<string, Json> };
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const plainKeywords = ['format', 'minLength', 'maxLength', 'minItems', 'maxItems', 'default'];

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectsOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Every operation of a document with its facts. */
export function factsOf(document: OpenapiDocument): Map<string, Set<string>> {
  const operations = new Map<string, Set<string>>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (!isObject(operation)) continue;
      operations.set(`${method.toUpperCase()} ${path}`, new FactCollector(document).operation(operation));
    }
  }
  return operations;
}

class FactCollector {
  private readonly facts = new Set<string>();

  constructor(private readonly document: OpenapiDocument) {}

  operation(operation: Json): Set<string> {
    this.facts.add(`operationId=${String(operation.operationId)}`);
    for (const parameter of objectsOf(operation.parameters)) this.parameter(parameter);
    if (isObject(operation.requestBody)) this.content('request', operation.requestBody);
    for (const [status, response] of Object.entries(isObject(operation.responses) ? operation.responses : {})) {
      if (!isObject(response)) continue;
      this.facts.add(status);
      for (const header of Object.keys(isObject(response.headers) ? response.headers : {})) {
        this.facts.add(`${status} header ${header.toLowerCase()}`);
      }
      this.content(status, response);
    }
    return this.facts;
  }

  private parameter(parameter: Json): void {
    const location = `${String(parameter.in)} ${String(parameter.name).toLowerCase()}`;
    this.facts.add(location);
    if (parameter.required === true) this.facts.add(`${location} required`);
    this.schema(`${location}:`, parameter.schema);
  }

  private content(location: string, replica: Json): void {
    for (const [type, media] of Object.entries(isObject(replica.content) ? replica.content : {})) {
      this.facts.add(`${location} ${type}`);
      // Binary streams and files have no fields.
      if (isObject(media) && type === 'application/json') this.schema(`${location}:`, media.schema);
    }
  }

  private schema(location: string, given: unknown): void {
    const schema = this.resolve(given);
    const variants = [...objectsOf(schema.anyOf), ...objectsOf(schema.oneOf)];
    for (const variant of variants) this.variant(location, variant);
    if (schema.nullable === true || schema.type === 'null') this.facts.add(`${location} nullable`);
    if (typeof schema.type === 'string' && schema.type !== 'null') this.facts.add(`${location} type=${schema.type}`);
    for (const value of Array.isArray(schema.enum) ? schema.enum : [])
      this.facts.add(`${location} enum ${String(value)}`);
    for (const keyword of plainKeywords) {
      // Requests name their defaults so: generators require members that have a `default`.
      const value = schema[keyword] ?? schema[`x-${keyword}-value`];
      if (value !== undefined) this.facts.add(`${location} ${keyword}=${JSON.stringify(value)}`);
    }
    this.bounds(location, schema);
    this.members(location, schema);
  }

  private bounds(location: string, schema: Json): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
    if (minimum !== undefined)
      this.facts.add(`${location} ${exclusiveMinimum === true ? '>' : '>='}${String(minimum)}`);
    if (maximum !== undefined)
      this.facts.add(`${location} ${exclusiveMaximum === true ? '<' : '<='}${String(maximum)}`);
  }

  private members(location: string, schema: Json): void {
    const required = Array.isArray(schema.required) ? schema.required : [];
    for (const [name, member] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
      const here = `${location} ${name}`.replace(/: /, ':').replace(/ (?=[^ ]+$)/, location.endsWith(':') ? '' : '.');
      if (required.includes(name)) this.facts.add(`${here} required`);
      this.schema(here, member);
    }
    if (schema.items !== undefined) this.schema(`${location}[]`, schema.items);
    if (isObject(schema.additionalProperties) && Object.keys(schema.additionalProperties).length > 0) {
      this.schema(`${location}{}`, schema.additionalProperties);
    }
  }

  /** A variant is identified by its role, its type, or its kind of value, as clients do. */
  private variant(location: string, given: Json): void {
    const schema = this.resolve(given);
    const label = this.labelOf(schema);
    if (label === null) this.schema(location, schema);
    else this.schema(`${location}<${label}>`, schema);
  }

  private labelOf(schema: Json): string | null {
    const properties = isObject(schema.properties) ? schema.properties : {};
    for (const name of ['role', 'type']) {
      const member = this.resolve(properties[name]);
      if (Array.isArray(member.enum) && member.enum.length > 0) return member.enum.map(String).join(',');
    }
    return schema.type === 'object' && typeof schema.title === 'string' ? schema.title : null;
  }

  /** Resolves references and merges `allOf`. */
  private resolve(given: unknown): Json {
    if (!isObject(given)) return {};
    if (typeof given.$ref === 'string') {
      const name = given.$ref.split('/').at(-1) ?? '';
      const target = this.document.components?.schemas?.[name];
      if (target === undefined) throw new Error(`the document has no schema ${name}`);
      return this.resolve(target);
    }
    const parts = objectsOf(given.allOf);
    if (parts.length === 0) return given;
    const { allOf: _joined, ...own } = given;
    const resolved = [...parts.map((part) => this.resolve(part)), own];
    const properties = Object.assign({}, ...resolved.map((part) => part.properties ?? {})) as Json;
    const required = resolved.flatMap((part) => part.required ?? []);
    const joined = Object.keys(properties).length > 0 ? { properties, required } : {};
    return Object.assign({}, ...resolved, joined) as Json;
  }
}
