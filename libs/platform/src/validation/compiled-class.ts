import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationArguments, ValidationTypes } from './rules.js';
import { type NestedClass, nestingsOf } from './nesting.js';

/*
 * The class-validator rules of a class, compiled once. class-validator's own executor collects and filters all metadata
 * for every object (about 20 times slower on a chat request) and cannot validate a field that is a string or objects.
 */

export type NewableClass<T extends object = object> = new () => T;
type ValidationMetadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

export interface CompiledRule {
  readonly name: string;
  passes(value: unknown, owner: object): boolean;
  message(value: unknown, owner: object): string;
}

export interface CompiledProperty {
  readonly property: string;
  /** From `@IsOptional` and `@ValidateIf`: the rules apply only if all of these hold. */
  readonly conditions: readonly ((owner: object, value: unknown) => boolean)[];
  readonly rules: readonly CompiledRule[];
  readonly nested: NestedClass | undefined;
  /** True when the value must be an object or objects; otherwise rules state the alternatives. */
  readonly isOnlyNested: boolean;
}

const compiled = new WeakMap<NewableClass, readonly CompiledProperty[]>();

/** Properties of a class that have rules, in declaration order. */
export function compile(type: NewableClass): readonly CompiledProperty[] {
  const known = compiled.get(type);
  if (known !== undefined) return known;
  const result = compileProperties(type);
  compiled.set(type, result);
  return result;
}

function compileProperties(type: NewableClass): CompiledProperty[] {
  const metadatas = new Map<string, ValidationMetadata[]>();
  for (const metadata of getMetadataStorage().getTargetValidationMetadatas(type, '', false, false)) {
    const known = metadatas.get(metadata.propertyName);
    if (known === undefined) metadatas.set(metadata.propertyName, [metadata]);
    else known.push(metadata);
  }
  const nestings = nestingsOf(type.prototype as object);
  return [...metadatas].map(([property, all]) => {
    const isNested = all.some((metadata) => metadata.type === ValidationTypes.NESTED_VALIDATION);
    return {
      property,
      conditions: all.filter(isCondition).map(conditionOf),
      rules: all.flatMap((metadata) => (isCondition(metadata) ? [] : rulesOf(metadata))),
      nested: nestings.get(property) ?? (isNested ? transformedClass(type, property) : undefined),
      isOnlyNested: isNested,
    };
  });
}

function isCondition({ type }: ValidationMetadata): boolean {
  return type === ValidationTypes.CONDITIONAL_VALIDATION;
}

function conditionOf({ constraints }: ValidationMetadata): (owner: object, value: unknown) => boolean {
  const [condition] = constraints as [(owner: object, value: unknown) => boolean];
  return condition;
}

/**
 * Returns the class that `@Type` names for a property, found through what class-transformer makes of an empty object.
 */
function transformedClass(type: NewableClass, property: string): NestedClass {
  const probe: unknown = Reflect.get(plainToInstance(type, { [property]: {} }), property);
  const nested = (probe as object).constructor as NewableClass;
  if (nested === Object) throw new Error(`${type.name}.${property} is nested but has no @Type.`);
  return () => nested;
}

function rulesOf(metadata: ValidationMetadata): CompiledRule[] {
  if (metadata.constraintCls === undefined) return [];
  const { propertyName: property, constraints } = metadata;
  return getMetadataStorage()
    .getTargetValidatorConstraints(metadata.constraintCls)
    .map(({ instance, async }) => {
      if (async)
        throw new Error(
          `The rule ${metadata.name ?? ''} of ${property} is asynchronous; only synchronous rules are supported.`,
        );
      // One object for all calls: rules are synchronous, and its fields are cleared below.
      const details: Mutable<ValidationArguments> = {
        targetName: '',
        property,
        object: {},
        value: undefined,
        constraints,
      };
      const validate = (value: unknown): boolean => {
        details.value = value;
        return instance.validate(value, details) === true;
      };
      return {
        name: metadata.name ?? 'custom',
        passes: (value, owner) => {
          details.object = owner;
          const passes = metadata.each ? Array.isArray(value) && value.every(validate) : validate(value);
          // Prompts must not be retained after their request.
          details.object = details.value = {};
          return passes;
        },
        message: (value, owner) =>
          formatMessage(metadata, { ...details, object: owner, value }, instance.defaultMessage?.bind(instance)),
      };
    });
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

function formatMessage(
  { message, constraints }: ValidationMetadata,
  details: ValidationArguments,
  defaultMessage: ((details: ValidationArguments) => string) | undefined,
): string {
  const text =
    typeof message === 'string'
      ? message
      : typeof message === 'function'
        ? message(details)
        : (defaultMessage?.(details) ?? '$property is not valid');
  return text.replaceAll(/\$constraint(\d+)/g, (_, position: string) => String(constraints[Number(position) - 1]));
}
