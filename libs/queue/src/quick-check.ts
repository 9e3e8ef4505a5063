import { getMetadataStorage, ValidationTypes } from 'class-validator';
import type { ValidationArguments, ValidatorConstraintInterface } from 'class-validator';

/** True when every decorator of the class accepts the instance. */
type Check = (instance: object) => boolean;

type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

interface Rule {
  readonly constraint: ValidatorConstraintInterface;
  /** The value is an array, and each of its elements must follow the rule. */
  readonly each: boolean;
  /** What the constraint is told of its place: one object for all calls, as they are synchronous. */
  readonly details: { -readonly [Name in keyof ValidationArguments]: ValidationArguments[Name] };
}

interface PropertyCheck {
  readonly property: string;
  /** Of `@IsOptional` and `@ValidateIf`: the others count only when all of these hold. */
  readonly conditions: readonly Metadata[];
  readonly rules: readonly Rule[];
  readonly nested: boolean;
}

const checks = new WeakMap<object, { check: Check; properties: ReadonlySet<string> } | null>();

/**
 * class-validator's own rules, looked up once per class instead of once per object: a job is checked at every pickup,
 * and the lookups cost more than the rules. Knows the synchronous rules, conditions and nesting; `false` also means
 * "let class-validator itself decide", so it can accept nothing that class-validator would reject.
 */
export function passesQuickCheck(instance: object): boolean {
  const compiled = compiledOf(instance.constructor);
  return compiled !== null && compiled.check(instance);
}

function compiledOf(type: object): { check: Check; properties: ReadonlySet<string> } | null {
  const known = checks.get(type);
  if (known !== undefined) return known;
  const properties = typeof type === 'function' ? propertyChecks(type) : null;
  const names = new Set(properties?.map(({ property }) => property));
  const compiled = properties === null ? null : { properties: names, check: checkOf(properties, names) };
  checks.set(type, compiled);
  return compiled;
}

function checkOf(properties: readonly PropertyCheck[], names: ReadonlySet<string>): Check {
  return (instance) =>
    // A member without a decorator is stripped or rejected by class-validator: not our business.
    Object.keys(instance).every((name) => names.has(name)) &&
    properties.every((property) => accepts(property, instance));
}

/** Null when the class uses something this check does not know, or nothing at all. */
// oxlint-disable-next-line typescript/no-unsafe-function-type -- class-validator keys its metadata by Function
function propertyChecks(type: Function): PropertyCheck[] | null {
  const storage = getMetadataStorage();
  const metadatas = storage.getTargetValidationMetadatas(type, '', false, false);
  if (metadatas.length === 0) return null;
  const compiled: PropertyCheck[] = [];
  for (const [property, all] of Object.entries(storage.groupByPropertyName(metadatas))) {
    const ofType = (wanted: string) => all.filter((metadata) => metadata.type === wanted);
    const conditions = ofType(ValidationTypes.CONDITIONAL_VALIDATION);
    const nested = ofType(ValidationTypes.NESTED_VALIDATION);
    const rules = rulesOf(type.name, ofType(ValidationTypes.CUSTOM_VALIDATION));
    const understood = conditions.length + nested.length + (rules?.length ?? 0) === all.length;
    if (rules === null || !understood || all.some(isNotPlain)) return null;
    compiled.push({ property, conditions, rules, nested: nested.length > 0 });
  }
  return compiled;
}

function rulesOf(targetName: string, metadatas: readonly Metadata[]): Rule[] | null {
  const rules: Rule[] = [];
  for (const { constraintCls, propertyName: property, constraints, each } of metadatas) {
    const [constraint, ...others] = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
    if (others.length > 0 || constraint?.async !== false) return null;
    const details = { targetName, property, object: {}, value: undefined, constraints: constraints as unknown[] };
    rules.push({ constraint: constraint.instance, each, details });
  }
  return rules;
}

function isNotPlain({ groups, validateIf }: Metadata): boolean {
  return (groups?.length ?? 0) > 0 || validateIf !== undefined;
}

function accepts({ property, conditions, rules, nested }: PropertyCheck, object: object): boolean {
  const value: unknown = Reflect.get(object, property);
  for (const { constraints } of conditions) {
    const [applies] = constraints as [(object: object, value: unknown) => boolean];
    if (!applies(object, value)) return true;
  }
  for (const rule of rules) if (!follows(rule, object, value)) return false;
  return !nested || acceptsNested(value);
}

function follows({ constraint, each, details }: Rule, object: object, value: unknown): boolean {
  details.object = object;
  const values = each ? value : [value];
  let followed = Array.isArray(values);
  if (Array.isArray(values)) {
    for (const one of values) {
      details.value = one;
      followed &&= constraint.validate(one, details) === true;
    }
  }
  // Payloads hold prompts, which must not live longer than their job.
  details.object = details.value = {};
  return followed;
}

function acceptsNested(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value))
    return value.every((each) => typeof each === 'object' && each !== null && passesQuickCheck(each));
  return typeof value === 'object' && passesQuickCheck(value);
}
