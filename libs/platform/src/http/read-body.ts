import type { FastifyRequest } from 'fastify';
import type { ErrorIssue } from '#common';
import { isExactJson } from '../json/index.js';
import { FormBody, type FormValue } from './form-body.js';
import { invalidRequest, ruleNamesOf, validateBody } from '../validation/index.js';

type NewableClass<T extends object> = new () => T;

/**
 * Reads a JSON or form body (`@Multipart`) as `type`. Form strings become the numbers, booleans, lists and objects that
 * the DTO expects, empty ones nothing, files become `UploadedFile`. Throws `INVALID_REQUEST` like `validateBody`.
 */
export function readBody<T extends object>(type: NewableClass<T>, { body }: Pick<FastifyRequest, 'body'>): T {
  return validateBody(type, body instanceof FormBody ? bodyOfForm(type, body) : body);
}

function bodyOfForm(type: NewableClass<object>, form: FormBody): Record<string, unknown> {
  const rules = ruleNamesOf(type);
  const fields: Record<string, unknown> = {};
  const issues: ErrorIssue[] = [];
  for (const [name, values] of form.entries()) {
    const names = rules.get(name) ?? noRules;
    const items = values.map((value) => itemOf(value, names)).filter((item) => item !== undefined);
    if (names.has('isArray')) fields[name] = items;
    else if (items.length < 2) fields[name] = items[0];
    else issues.push({ code: 'invalid_type', path: [name], message: `${name} must be given once` });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return fields;
}

const noRules: ReadonlySet<string> = new Set();
/** A number as programming languages print it: `.2`, `+1.5`, `1e-05`. */
const decimal = /^[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:e[-+]?\d{1,3})?$/i;
const booleanWords: Record<string, boolean> = { true: true, '1': true, false: false, '0': false };

/**
 * An empty text counts as absent in every field: forms have no other way to say nothing. An unparsable value stays a
 * string, which validation then rejects with the field name.
 */
function itemOf(value: FormValue, names: ReadonlySet<string>): unknown {
  if (typeof value !== 'string') return value;
  if (value === '') return undefined;
  if (names.has('isInt') || names.has('isNumber')) {
    return decimal.test(value.trim()) && isExactJson(value) ? Number(value) : value;
  }
  if (names.has('isBoolean')) {
    const word = value.trim().toLowerCase();
    return Object.hasOwn(booleanWords, word) ? booleanWords[word] : value;
  }
  return names.has('isObject') ? objectOf(value) : value;
}

function objectOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isExactJson(text) ? value : text;
  } catch {
    return text;
  }
}
