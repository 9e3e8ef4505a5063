import { isUtf8 } from 'node:buffer';
import { type ErrorIssue, PlatformError } from '#common';
import { freeBytes } from '#platform/memory';
import { type LostDetail, lostDetails, nearestDouble } from './json-source.js';
import { findJsonFault } from './json-fault.js';
import { checkJsonSize } from './json-size.js';

/** Maximum nesting of objects and arrays, ten times what the API needs. */
const deepestNesting = 64;

class BodyFault extends Error {
  constructor(
    readonly code: string,
    readonly problem: string,
  ) {
    super(problem);
  }
  readonly path: (string | number)[] = [];
}

function refuse(message: string, param: string | null, issue: ErrorIssue): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, param, { issues: [issue] });
}

/** Returns why a string is rejected, worded to follow its name; null for most. */
export function textProblem(text: string): string | null {
  if (!text.isWellFormed()) return 'holds half of a surrogate pair';
  // PostgreSQL cannot store it in text or JSON, and the queue would reject the job.
  return text.includes('\0') ? 'holds a NUL character' : null;
}

function checkText(text: string): void {
  const problem = textProblem(text);
  if (problem !== null) throw new BodyFault('invalid_string', problem);
}

/** Walks the parsed value once. `deepestNesting` bounds the recursion, so depth is checked first. */
function checkValue(value: unknown, depth: number): void {
  if (typeof value === 'string') return checkText(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new BodyFault('not_finite', 'is too large a number');
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth === deepestNesting) throw new BodyFault('too_deep', `is nested deeper than ${deepestNesting} levels`);
  if (Array.isArray(value)) {
    for (let position = 0; position < value.length; position += 1) checkMember(position, value[position], depth);
    return;
  }
  for (const [key, member] of Object.entries(value)) checkMember(key, member, depth);
}

function checkMember(key: string | number, member: unknown, depth: number): void {
  try {
    if (typeof key === 'string') checkText(key);
    checkValue(member, depth + 1);
  } catch (error) {
    if (error instanceof BodyFault) error.path.unshift(key);
    throw error;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the body and, on Node 20, often lacks the position.
    const fault = findJsonFault(text);
    const message = `The body is not valid JSON: ${fault.problem} at position ${fault.position} (line ${fault.line}, column ${fault.column}).`;
    throw refuse(message, null, { code: 'invalid_json', path: [], message });
  }
}

function nameOf(path: (string | number)[]): string {
  // A hostile path can have 64 names of a megabyte each.
  const shown = path.slice(0, 8).map((part) => (typeof part === 'string' ? part.slice(0, 64).toWellFormed() : part));
  return shown.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

/**
 * Parses a JSON request body. Rejects invalid UTF-8, malformed JSON (with its position), nesting beyond 64 levels,
 * numbers outside the double range, integers that no double equals, unpaired surrogates and NUL characters. A member
 * `__proto__` is an own one like all others: it may be copied with a spread, never by an assignment. Where JavaScript
 * reorders `properties` of a schema, `x-property-order` beside it has the order of the text. Throws
 * `INVALID_REQUEST` naming the field.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  return parseJsonText(textOf(bytes));
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) {
    const message = 'The body is not valid UTF-8.';
    throw refuse(message, null, { code: 'invalid_encoding', path: [], message });
  }
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function parseJsonText(text: string): unknown {
  const value = parse(text);
  try {
    checkValue(value, 0);
    for (const detail of lostDetails(text)) restore(value, detail);
  } catch (error) {
    throw explain(error);
  }
  return value;
}

/**
 * Checks a JSON body whose bytes pass on as they are, so that integers of any size do no harm. Throws as `readJson` does
 * for all else.
 */
export function checkJson(bytes: Buffer): void {
  checkJsonSize(bytes);
  const value = parse(textOf(bytes));
  try {
    checkValue(value, 0);
  } catch (error) {
    throw explain(error);
  }
}

/** Turns a fault of a value into the error for the client. */
function explain(error: unknown): Error {
  if (!(error instanceof BodyFault)) return error as Error;
  const name = nameOf(error.path);
  const message = `${name === '' ? 'The body' : name} ${error.problem}.`;
  return refuse(message, name === '' ? null : name, { code: error.code, path: error.path.slice(0, 8), message });
}

/** Bounds of JSON Schemas: generators write those of 64-bit integers, which no double equals. */
const bounds: Readonly<Record<string, 'above' | 'below'>> = {
  minimum: 'above',
  exclusiveMinimum: 'above',
  maximum: 'below',
  exclusiveMaximum: 'below',
};

/** Keywords of JSON Schemas that change no value. */
const annotations: ReadonlySet<unknown> = new Set(['default', 'example', 'examples']);

/** Where schemas keep the order in which their text has the members of `properties`. */
const orderKeyword = 'x-property-order';

function restore(body: unknown, detail: LostDetail): void {
  if (detail.kind === 'integer') return keepExact(body, detail);
  const schema = memberAt(body, detail.path);
  if (!Object.hasOwn(schema, orderKeyword)) schema[orderKeyword] = detail.names;
}

/** The object at a path of the text. */
function memberAt(body: unknown, path: readonly (string | number)[]): Record<string, unknown> {
  return path.reduce((at, step) => (at as Record<string, unknown>)[step], body) as Record<string, unknown>;
}

type InexactInteger = Extract<LostDetail, { kind: 'integer' }>;

/** Moves a bound inward to the next double, so that what keeps the new one keeps that of the text. Rejects other integers. */
function keepExact(body: unknown, { path, value }: InexactInteger): void {
  const last = path.at(-1);
  const direction = typeof last === 'string' && Object.hasOwn(bounds, last) ? bounds[last] : undefined;
  if (direction !== undefined && last !== undefined) {
    memberAt(body, path.slice(0, -1))[last] = nearestDouble(value, direction);
  } else if (!annotations.has(path.findLast((step) => typeof step === 'string'))) {
    const fault = new BodyFault('not_exact', 'is an integer that a double-precision number does not hold exactly');
    fault.path.push(...path);
    throw fault;
  }
}

/** Parses a JSON body that holds no more than `jsonLimits` allow. Throws `PAYLOAD_TOO_LARGE`, or as `parseJsonBody`. */
export function readJson(bytes: Buffer): unknown {
  checkJsonSize(bytes);
  return parseJsonBody(bytes);
}

/** The same; returns the memory of the bytes before it parses their text, so that no body is in memory three times. */
export function consumeJson(bytes: Buffer): unknown {
  checkJsonSize(bytes);
  const text = textOf(bytes);
  freeBytes(bytes);
  return parseJsonText(text);
}
