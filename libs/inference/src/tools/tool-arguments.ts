import { PlatformError } from '#common';
import { ignoredKeywords } from '#common/json-schema';
import type { TextPart } from '../contract/output-region.js';
import type { ToolDefinition } from '../contract/tool-use.js';
import { isRecord, objectSchema } from './tool-style.js';

/** One argument of a tool, for styles that write each by itself. */
export interface ToolArgument {
  name: string;
  isRequired: boolean;
  /** The JSON texts of its values. */
  value: TextPart;
  /** The strings that it may be, if it is one of some strings; null: any string. Undefined for all other schemas. */
  texts: readonly string[] | null | undefined;
}

const plainKeywords = new Set(['type', 'properties', 'required', 'additionalProperties', '$defs', 'definitions']);
const annotations = new Set(['$schema', '$id', '$comment', 'title', 'description', 'default', 'examples']);

/**
 * The arguments of a tool in the order of its schema. Throws `INVALID_REQUEST`, naming the field, for keywords of the
 * object as a whole, which a style without an object cannot keep; of a schema that is not strict, it leaves them out.
 */
export function listArguments(tool: ToolDefinition): ToolArgument[] {
  const { parameters, param, isStrict = true, textFormat: format } = tool;
  if (format !== undefined) {
    const value: TextPart = { type: 'json-string', format, param };
    return [{ name: format.argument, isRequired: true, value, texts: undefined }];
  }
  const schema = objectSchema(parameters) as Record<string, unknown>;
  if (isStrict) checkWhole(schema, param);
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
  const { $defs, definitions } = schema;
  return Object.entries(properties).map(([name, property]) => {
    const isElsewhere = hasOtherReference(property);
    if (isElsewhere && isStrict) throw refused(`#/properties/${name}: only references to $defs are followed`, param);
    const inlined = isElsewhere ? {} : property;
    const shared = isRecord(inlined) ? { $defs, definitions, ...inlined } : inlined;
    return {
      name,
      isRequired: required.has(name),
      value: { type: 'json-schema', schema: withoutAbsent(shared), param, isStrict },
      texts: textsOf(property),
    };
  });
}

/** Throws for what the object says as a whole. */
function checkWhole(schema: Record<string, unknown>, param: string): void {
  const ignored = ignoredKeywords(schema);
  for (const keyword of Object.keys(schema)) {
    if (plainKeywords.has(keyword) || annotations.has(keyword) || ignored.includes(keyword)) continue;
    throw refused(`#/${keyword}: this model writes arguments one by one and cannot keep this keyword`, param);
  }
  const { properties, required } = schema;
  const isDeclared = (name: unknown): boolean => isRecord(properties) && Object.hasOwn(properties, String(name));
  if (!Array.isArray(required) || required.every(isDeclared)) return;
  throw refused('#/required: names a property that is not declared', param);
}

function refused(reason: string, param: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `The schema is not supported at ${reason}.`, param);
}

function withoutAbsent(schema: unknown): unknown {
  return isRecord(schema)
    ? Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined))
    : schema;
}

/** References into the rest of the object would lead elsewhere from a schema of its own. */
function hasOtherReference(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasOtherReference);
  if (!isRecord(schema)) return false;
  const { $ref: reference, ...rest } = schema;
  if (typeof reference === 'string' && !/^#\/(\$defs|definitions)\//.test(reference)) return true;
  return Object.values(rest).some(hasOtherReference);
}

/** Strings of any kind or one of some; other schemas of strings are written as JSON. */
function textsOf(schema: unknown): readonly string[] | null | undefined {
  if (!isRecord(schema)) return undefined;
  const asserted = Object.keys(schema).filter((keyword) => !annotations.has(keyword));
  const listed = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (asserted.some((keyword) => !['type', 'enum', 'const'].includes(keyword))) return undefined;
  if (schema.type !== undefined && schema.type !== 'string') return undefined;
  if (listed === undefined) return schema.type === 'string' ? null : undefined;
  if (!Array.isArray(listed) || listed.length === 0 || (schema.enum !== undefined && schema.const !== undefined))
    return undefined;
  return listed.every((value) => typeof value === 'string') ? (listed as string[]) : undefined;
}
