import { PlatformError } from '#common';
import { checkSchema, type SchemaNote } from '#common/json-schema';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import type { ChatWarning } from '../../contract/chat.warning.js';

/** A schema of a request that texts of the model follow. */
export interface RequestSchema {
  /** Field of the request. */
  param: string;
  schema: unknown;
  isStrict: boolean;
}

/** Places that one warning names; the others are counted. */
const maxNamed = 8;
const maxPointerLength = 200;

/**
 * Examines the schemas of a job before it is queued. Throws `INVALID_REQUEST` for what is malformed, and in strict schemas
 * for keywords that no grammar follows. Returns what of the schemas the texts do not follow.
 */
export function checkSchemas(payload: ChatJobPayload): ChatWarning[] {
  return [...toolSchemas(payload).values(), ...formatSchema(payload)].flatMap(warningsOf);
}

/** Whether the worker may refuse a schema, pattern or grammar of the job although it was examined here. */
export function mayBeRefused({ format, tools = [], toolChoice }: ChatJobPayload): boolean {
  if (format !== undefined && format.type !== 'json-object') return true;
  return toolChoice !== 'none' && tools.some(({ strict, textFormat }) => strict || textFormat !== undefined);
}

/** Those of the tools that may be called, by name. */
export function toolSchemas({ tools = [], toolChoice, allowedTools }: ChatJobPayload): Map<string, RequestSchema> {
  const named = typeof toolChoice === 'object' ? [toolChoice.name] : allowedTools;
  const callable = toolChoice === 'none' ? [] : tools.filter(({ name }) => named === undefined || named.includes(name));
  // A text format is checked where it is compiled; its schema is the service's own.
  const plainTools = callable.filter(({ textFormat }) => textFormat === undefined);
  return new Map(
    plainTools.map(({ name, parameters, strict, param = 'tools' }) => [
      name,
      { param, schema: parameters, isStrict: strict },
    ]),
  );
}

export function formatSchema({ format }: ChatJobPayload): RequestSchema[] {
  if (format?.schema === undefined) return [];
  return [{ param: format.param, schema: format.schema, isStrict: format.strict === true }];
}

function warningsOf({ param, schema, isStrict }: RequestSchema): ChatWarning[] {
  const { refusal, ignored, relaxed } = checkSchema(schema, { isStrict });
  if (refusal !== null) {
    const message = `The schema is not supported at ${placeOf(refusal.pointer)}: ${refusal.reason}.`;
    throw new PlatformError('INVALID_REQUEST', message, param);
  }
  const warnings: ChatWarning[] = [];
  if (ignored.length > 0) {
    const message = `Unknown keywords and formats are annotations, which no text follows: ${listed(ignored.map(placeOf))}.`;
    warnings.push({ code: 'schema_keywords_ignored', param, message });
  }
  if (relaxed.length > 0) warnings.push(relaxedWarning(param, relaxed));
  return warnings;
}

const unchecked =
  'Of these, pattern, patternProperties, format and unevaluated… are not checked on the finished value either.';

/** The warning about keywords that are left out of a grammar. */
export function relaxedWarning(param: string, notes: readonly SchemaNote[]): ChatWarning {
  const places = listed(notes.map(({ pointer, reason }) => `${placeOf(pointer)} (${reason})`));
  const message = `The text is generated without these keywords, since strict is not true: ${places}. ${unchecked}`;
  return { code: 'schema_relaxed', param, message };
}

function listed(places: readonly string[]): string {
  const named = places.slice(0, maxNamed).join(', ');
  const more = places.length - maxNamed;
  return more > 0 ? `${named} and ${more} more` : named;
}

export function placeOf(pointer: string): string {
  const written = pointer.startsWith('#') ? pointer : `#${pointer}`;
  return written.length <= maxPointerLength ? written : `${written.slice(0, maxPointerLength)}…`;
}
