import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

type Schema = Record<string, unknown>;

export interface AnsweringDocument {
  paths: Record<
    string,
    Record<string, { responses?: Record<string, { content?: Record<string, { schema?: object }> }> }>
  >;
  components: { schemas: Record<string, object> };
}

/** Says whether JSON answers are as the published document describes them, without members that it does not name. */
export class AnswerChecker {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  private readonly checks = new Map<string, ValidateFunction>();

  constructor(private readonly document: AnsweringDocument) {
    const schemas = Object.entries(document.components.schemas);
    const components = { schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, jsonSchema(schema)])) };
    this.ajv.addSchema({ $id: 'document', components });
  }

  /** Returns what is wrong with an answer; null where the document has no JSON for this operation and status. */
  problemsOf(method: string, path: string, status: number, answer: unknown): string[] | null {
    const responses = this.document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    const schema = responses[String(status)]?.content?.['application/json']?.schema;
    if (!schema) return null;
    const check = this.compile(`${method} ${path} ${status}`, schema);
    if (check(answer)) return [];
    return (check.errors ?? []).map(({ instancePath, message, params }) => {
      return `${instancePath || '/'} ${message} ${JSON.stringify(params)}`;
    });
  }

  private compile(name: string, schema: object): ValidateFunction {
    const known = this.checks.get(name);
    if (known) return known;
    const check = this.ajv.compile(jsonSchema(schema) as object);
    this.checks.set(name, check);
    return check;
  }
}

/** A schema of OpenAPI 3.0 as JSON Schema: `nullable` becomes a type, and objects are closed. */
function jsonSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(jsonSchema);
  if (typeof value !== 'object' || value === null) return value;
  const { nullable, ...rest } = value as Schema;
  const schema: Schema = Object.fromEntries(
    Object.entries(rest).map(([key, member]) => [
      key,
      key === 'properties' ? propertiesOf(member) : jsonSchema(member),
    ]),
  );
  if (typeof schema.$ref === 'string') return { $ref: `document${schema.$ref}` };
  if (schema.properties && !('additionalProperties' in schema)) schema.additionalProperties = false;
  for (const bound of ['minimum', 'maximum']) {
    const exclusive = `exclusive${bound.charAt(0).toUpperCase()}${bound.slice(1)}`;
    if (schema[exclusive] === true) Object.assign(schema, { [exclusive]: schema[bound] });
    else if (schema[exclusive] === false) delete schema[exclusive];
  }
  return nullable === true ? { anyOf: [{ type: 'null' }, schema] } : schema;
}

function propertiesOf(members: unknown): Schema {
  return Object.fromEntries(Object.entries(members as Schema).map(([name, schema]) => [name, jsonSchema(schema)]));
}
