import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { type ErrorIssue, PlatformError } from '#common';
import { type NestedClass, nestingsOf } from './wire-nesting.js';

/*
 * Evaluates the class-validator rules of a DTO, compiled once per class. The rules are class-validator's, the loop
 * is ours: its own executor collects and filters all metadata again for every object of every request (measured
 * some 20 times slower on a chat request), and it cannot validate a field that is either a string or objects.
 */

type NewableClass<T extends object = object> = new () => T;
type ValidationMetadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

interface CompiledRule {
  name: string;
  each: boolean;
  passes(value: unknown, owner: object): boolean;
  message(value: unknown, owner: object): string;
}

interface CompiledProperty {
  property: string;
  optional: boolean;
  rules: CompiledRule[];
  nested: NestedClass | undefined;
}

/** class-validator's rule names as the `code` of an issue. */
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

/** Findings reported at most; a body of a million wrong messages must not become a million lines. */
const mostIssues = 20;

const compiled = new WeakMap<NewableClass, CompiledProperty[]>();

function compileRule(metadata: ValidationMetadata): CompiledRule[] {
  return getMetadataStorage()
    .getTargetValidatorConstraints(metadata.constraintCls)
    .map((constraint) => {
      const describe = (value: unknown, object: object) => ({
        targetName: '',
        property: metadata.propertyName,
        object,
        value,
        constraints: metadata.constraints,
      });
      const worded = (value: unknown, owner: object): string => {
        const details = describe(value, owner);
        const { message } = metadata;
        if (typeof message === 'string') return message;
        if (typeof message === 'function') return message(details);
        return constraint.instance.defaultMessage?.(details) ?? `$property is not valid`;
      };
      return {
        name: metadata.name ?? 'custom',
        each: metadata.each,
        passes: (value, owner) => constraint.instance.validate(value, describe(value, owner)) === true,
        message: (value, owner) =>
          worded(value, owner).replaceAll(/\$constraint(\d+)/g, (_, position: string) =>
            String(metadata.constraints[Number(position) - 1]),
          ),
      };
    });
}

function compile(type: NewableClass): CompiledProperty[] {
  const known = compiled.get(type);
  if (known !== undefined) return known;
  const properties = new Map<string, CompiledProperty>();
  const nestings = nestingsOf(type.prototype as object);
  for (const metadata of getMetadataStorage().getTargetValidationMetadatas(type, '', false, false)) {
    const property = metadata.propertyName;
    const entry = properties.get(property) ?? { property, optional: false, rules: [], nested: nestings.get(property) };
    properties.set(property, entry);
    if (metadata.type === ValidationTypes.CONDITIONAL_VALIDATION) entry.optional = true;
    else if (metadata.constraintCls !== undefined) entry.rules.push(...compileRule(metadata));
  }
  const result = [...properties.values()];
  compiled.set(type, result);
  return result;
}

function wirePath(path: (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

/** The message with the whole path in place of the bare field name. */
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
  if (field.optional && (value === undefined || value === null)) return;
  const here = [...path, field.property];
  for (const rule of field.rules) {
    const values = rule.each && Array.isArray(value) ? value : null;
    const passes = values === null ? rule.passes(value, owner) : values.every((item) => rule.passes(item, owner));
    if (passes) continue;
    const message = placed(rule.message(value, owner), field.property, here);
    issues.push({ code: issueCodes[rule.name] ?? 'custom', path: here, message });
    // One finding a field: the first rule that fails explains the others.
    return;
  }
  if (field.nested !== undefined) checkNested(value, field.nested, here, issues);
}

function checkNested(value: unknown, choose: NestedClass, path: (string | number)[], issues: ErrorIssue[]): void {
  if (Array.isArray(value)) {
    for (const [position, item] of value.entries()) {
      if (issues.length >= mostIssues) return;
      checkObject(item, choose, [...path, position], issues);
    }
    return;
  }
  if (isPlainObject(value)) checkObject(value, choose, path, issues);
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
    if (issues.length >= mostIssues) return;
    checkProperty(value, field, path, issues);
  }
}

/** Names of class-validator's rules, by field: how a form's texts are to be read. */
export function ruleNamesOf(type: NewableClass): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(compile(type).map(({ property, rules }) => [property, new Set(rules.map(({ name }) => name))]));
}

/** Every finding against the rules of `type`, in the order of its fields; empty when the value is right. */
export function findIssues(type: NewableClass, value: unknown): ErrorIssue[] {
  const issues: ErrorIssue[] = [];
  if (!isPlainObject(value)) {
    return [{ code: 'invalid_type', path: [], message: 'The body must be a JSON object' }];
  }
  checkObject(value, () => type, [], issues);
  return issues;
}

/** The error of one or more findings: the first names the field. */
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
 * The value as `type`, unchanged: fields nobody documents pass through. Throws `INVALID_REQUEST` naming the first
 * wrong field, with every finding in `issues`.
 */
export function validateWire<T extends object>(type: NewableClass<T>, value: unknown): T {
  const issues = findIssues(type, value);
  if (issues.length > 0) throw invalidRequest(issues);
  return value as T;
}
