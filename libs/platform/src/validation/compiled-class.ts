import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationArguments, ValidationTypes } from './rules.js';
import { type NestedClass, nestingsOf } from './nesting.js';

/*
 * The class-validator rules of a class, compiled once. The rules are class-validator's, the loop is ours: its own executor
 * collects and filters all metadata again for every object (measured some 20 times slower on a chat request), and it
 * cannot validate a field that is either a string or objects.
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
  /** Of `@IsOptional` and `@ValidateIf`: the rules count only where all of these hold. */
  readonly conditions: readonly ((owner: object, value: unknown) => boolean)[];
  readonly rules: readonly CompiledRule[];
  readonly nested: NestedClass | undefined;
  /** The value must be an object or objects; else rules alone say what it may be instead. */
  readonly isOnlyNested: boolean;
}

const compiled = new WeakMap<NewableClass, readonly CompiledProperty[]>();

/** The properties of a class that have rules, in the order of their declaration. */
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

/** The class that `@Type` names for a property; class-transformer tells it by what it makes of an empty object. */
function transformedClass(type: NewableClass, property: string): NestedClass {
  const probe: unknown = Reflect.get(plainToInstance(type, { [property]: {} }), property);
  const nested = (probe as object).constructor as NewableClass;
  if (nested === Object) throw new Error(`${type.name}.${property} is nested, and no @Type says what it is.`);
  return () => nested;
}

function rulesOf(metadata: ValidationMetadata): CompiledRule[] {
  if (metadata.constraintCls === undefined) return [];
  const { propertyName: property, constraints } = metadata;
  return getMetadataStorage()
    .getTargetValidatorConstraints(metadata.constraintCls)
    .map(({ instance, async }) => {
      if (async)
        throw new Error(`The rule ${metadata.name ?? ''} of ${property} waits; only those at hand are known here.`);
      // One object for all calls: rules are synchronous, and what they are told is taken from them again below.
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
          // Prompts must not live longer than their request.
          details.object = details.value = {};
          return passes;
        },
        message: (value, owner) =>
          worded(metadata, { ...details, object: owner, value }, instance.defaultMessage?.bind(instance)),
      };
    });
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

function worded(
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
