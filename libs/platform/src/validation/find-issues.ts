import { type ErrorIssue, PlatformError } from '#common';
import { compile, type CompiledProperty, type NewableClass } from './compiled-class.js';
import type { NestedClass } from './nesting.js';

/** Issue `code` of each class-validator rule. */
const issueCodes: Record<string, string> = {
  min: 'too_small',
  minLength: 'too_small',
  arrayMinSize: 'too_small',
  max: 'too_big',
  maxLength: 'too_big',
  arrayMaxSize: 'too_big',
  isIn: 'invalid_enum_value',
  isDefined: 'required',
  isString: 'invalid_type',
  isNumber: 'invalid_type',
  isInt: 'invalid_type',
  isBoolean: 'invalid_type',
  isArray: 'invalid_type',
  isObject: 'invalid_type',
};

/** Characters of the name of an unknown member that a message repeats. */
const maxNameLength = 64;

/** Maximum number of reported issues, so that a body with a million invalid messages stays small to report. */
const maxIssues = 20;

function wirePath(path: (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

/** Replaces the field name in the message with its full path. */
function placed(message: string, property: string, path: (string | number)[]): string {
  const full = wirePath(path);
  const named = message.replace('$property', property);
  if (named.startsWith('each value in ')) return named.replace(`each value in ${property}`, `each value in ${full}`);
  return named.startsWith(property) ? full + named.slice(property.length) : named;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkProperty(
  owner: Record<string, unknown>,
  field: CompiledProperty,
  path: (string | number)[],
  issues: ErrorIssue[],
): void {
  const value = owner[field.property];
  for (const applies of field.conditions) if (!applies(owner, value)) return;
  const here = [...path, field.property];
  for (const rule of field.rules) {
    if (rule.passes(value, owner)) continue;
    const message = placed(rule.message(value, owner), field.property, here);
    issues.push({ code: issueCodes[rule.name] ?? 'custom', path: here, message });
    // One issue per field: the first failing rule explains the others.
    return;
  }
  if (field.nested !== undefined) checkNested(value, field, here, issues);
}

function checkNested(
  value: unknown,
  { nested, isOnlyNested }: CompiledProperty,
  path: (string | number)[],
  issues: ErrorIssue[],
): void {
  if (nested === undefined || value === undefined || value === null) return;
  if (Array.isArray(value)) {
    for (const [position, item] of value.entries()) {
      if (issues.length >= maxIssues) return;
      checkObject(item, nested, [...path, position], issues);
    }
    return;
  }
  if (isOnlyNested || isPlainObject(value)) checkObject(value, nested, path, issues);
}

function checkObject(value: unknown, choose: NestedClass, path: (string | number)[], issues: ErrorIssue[]): void {
  if (!isPlainObject(value)) {
    issues.push({ code: 'invalid_type', path, message: `${wirePath(path)} must be an object` });
    return;
  }
  const type = choose(value);
  if (typeof type !== 'function') {
    const at = type.at === undefined ? path : [...path, type.at];
    issues.push({ code: 'invalid_enum_value', path: at, message: `${wirePath(at)} ${type.problem}` });
    return;
  }
  for (const field of compile(type)) {
    if (issues.length >= maxIssues) return;
    checkProperty(value, field, path, issues);
  }
}

/** class-validator rule names by field, which determine how form strings are parsed. */
export function ruleNamesOf(type: NewableClass): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(compile(type).map(({ property, rules }) => [property, new Set(rules.map(({ name }) => name))]));
}

/** Fast path: most values are valid, and this tracks no path. */
function isRight(type: ReturnType<NestedClass>, value: unknown): boolean {
  if (!isPlainObject(value) || typeof type !== 'function') return false;
  return compile(type).every((field) => {
    const member = value[field.property];
    if (!field.conditions.every((applies) => applies(value, member))) return true;
    return field.rules.every((rule) => rule.passes(member, value)) && isNestedRight(member, field);
  });
}

function isNestedRight(member: unknown, { nested, isOnlyNested }: CompiledProperty): boolean {
  if (nested === undefined || member === undefined || member === null) return true;
  const isItemRight = (item: unknown): boolean => isPlainObject(item) && isRight(nested(item), item);
  if (Array.isArray(member)) return member.every(isItemRight);
  return isPlainObject(member) ? isItemRight(member) : !isOnlyNested;
}

/** Returns every issue of the value against the rules of `type`, in field order; empty when it is valid. */
export function findIssues(type: NewableClass, value: unknown): ErrorIssue[] {
  if (!isPlainObject(value)) {
    return [{ code: 'invalid_type', path: [], message: 'The body must be a JSON object' }];
  }
  if (isRight(type, value)) return [];
  const issues: ErrorIssue[] = [];
  checkObject(value, () => type, [], issues);
  return issues;
}

/** Creates the error for one or more issues; the first names the field. */
export function invalidRequest(issues: ErrorIssue[]): PlatformError {
  const [first] = issues;
  const path = first === undefined ? '' : wirePath(first.path);
  return new PlatformError(
    'INVALID_REQUEST',
    `${first?.message ?? 'The request is not valid'}.`,
    path === '' ? null : path,
    {
      issues,
    },
  );
}

/**
 * Returns the value as `type`, unchanged, with undocumented fields. Throws `INVALID_REQUEST` naming the first invalid
 * field, with every issue in `issues`.
 */
export function validateBody<T extends object>(type: NewableClass<T>, value: unknown): T {
  const issues = findIssues(type, value);
  if (issues.length > 0) throw invalidRequest(issues);
  return value as T;
}

/**
 * Returns an issue for every member of a valid value, and of its nested members, that its class has no rule for; null
 * counts as absent. For routes whose clients must learn what is ignored.
 */
export function findUnknownMembers(type: NewableClass, value: unknown): ErrorIssue[] {
  const issues: ErrorIssue[] = [];
  if (isPlainObject(value)) collectUnknown(type, value, [], issues);
  return issues;
}

function collectUnknown(
  type: NewableClass,
  value: Record<string, unknown>,
  path: (string | number)[],
  issues: ErrorIssue[],
): void {
  const fields = compile(type);
  for (const [name, member] of Object.entries(value)) {
    if (issues.length >= maxIssues) return;
    if (member === null || member === undefined) continue;
    const field = fields.find(({ property }) => property === name);
    // Names of unknown members are the client's, so that they are cut.
    const here = [...path, field === undefined ? name.slice(0, maxNameLength) : name];
    const message = `${wirePath(here)} is not supported here`;
    if (field === undefined) issues.push({ code: 'unrecognized_keys', path: here, message });
    else if (field.nested !== undefined) collectNested(member, field.nested, here, issues);
  }
}

function collectNested(member: unknown, choose: NestedClass, path: (string | number)[], issues: ErrorIssue[]): void {
  const items: [unknown, (string | number)[]][] = Array.isArray(member)
    ? member.map((item: unknown, position) => [item, [...path, position]])
    : [[member, path]];
  for (const [item, place] of items) {
    if (!isPlainObject(item)) continue;
    const type = choose(item);
    if (typeof type === 'function') collectUnknown(type, item, place, issues);
  }
}
