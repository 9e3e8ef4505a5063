import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Matches, Max, Min, MinLength } from '../validation/index.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What `docs/configuration.md` and the messages of a bad environment say of a variable. */
export interface VariableDescription {
  /** Name in the environment. */
  name: string;
  /** Name of the class's property. */
  property: string;
  /** What it does, one sentence. */
  about: string;
  /** What a value must be, as it follows "expected …". */
  expected: string;
  /** As it would be written in the environment; null: the variable is optional and has none. */
  defaultText: string | null;
  required: boolean;
  /** Secrets are never echoed. */
  secret: boolean;
}

/** Members every kind of variable shares. Without `default`, and not `optional`, the variable must be set. */
interface CommonOptions<T> {
  about: string;
  default?: T;
  optional?: boolean;
  secret?: boolean;
}

interface TextOptions extends CommonOptions<string> {
  pattern?: RegExp;
  /** What the pattern means in words. */
  expected?: string;
}

interface IntegerOptions extends CommonOptions<number> {
  min: number;
  max: number;
}

interface ChoiceOptions extends CommonOptions<string> {
  choices: readonly string[];
}

const descriptions = new Map<object, VariableDescription[]>();

/** The variables of a config class, its parents' first. */
export function variablesOf(configClass: new () => object): VariableDescription[] {
  const found: VariableDescription[] = [];
  for (let prototype: unknown = configClass.prototype; prototype instanceof Object;) {
    found.unshift(...(descriptions.get(prototype) ?? []));
    prototype = Object.getPrototypeOf(prototype);
  }
  return found;
}

function declare<T>(
  name: string,
  expected: string,
  options: CommonOptions<T>,
  checks: PropertyDecorator[],
): PropertyDecorator {
  const required = options.default === undefined && !options.optional;
  return (target, property) => {
    const description: VariableDescription = {
      name,
      property: String(property),
      about: options.about,
      expected,
      defaultText: options.default === undefined ? null : String(options.default),
      required,
      secret: options.secret ?? false,
    };
    descriptions.set(target, [...(descriptions.get(target) ?? []), description]);
    for (const check of checks) check(target, property);
    if (!required) IsOptional()(target, property);
  };
}

/** A variable taken as it is written. */
export function TextVariable(name: string, options: TextOptions): PropertyDecorator {
  const expected = options.expected ?? 'text';
  const pattern = options.pattern ? [Matches(options.pattern)] : [];
  return declare(name, expected, options, [IsString(), MinLength(1), ...pattern]);
}

/** A whole number, both bounds included. */
export function IntegerVariable(name: string, options: IntegerOptions): PropertyDecorator {
  const toNumber = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^-?\d+$/.test(value.trim()) ? Number(value) : value,
  );
  const expected = `a whole number from ${options.min} to ${options.max}`;
  return declare(name, expected, options, [toNumber, IsInt(), Min(options.min), Max(options.max)]);
}

/** A port; 0 takes a free one. */
export function PortVariable(name: string, options: CommonOptions<number>): PropertyDecorator {
  return IntegerVariable(name, { ...options, min: 0, max: 65_535 });
}

/** One of some words. */
export function ChoiceVariable(name: string, options: ChoiceOptions): PropertyDecorator {
  return declare(name, `one of ${options.choices.join(', ')}`, options, [IsIn(options.choices)]);
}

const truth: Record<string, boolean> = { true: true, '1': true, yes: true, false: false, '0': false, no: false };

export function BooleanVariable(name: string, options: CommonOptions<boolean>): PropertyDecorator {
  const toBoolean = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? (truth[value.trim().toLowerCase()] ?? value) : value,
  );
  return declare(name, 'true or false', options, [toBoolean, IsBoolean()]);
}

/** Words separated by commas; `expected` says what else they must be, where a check of its own stands beside it. */
export function ListVariable(name: string, options: CommonOptions<string> & { expected?: string }): PropertyDecorator {
  const toList = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string'
      ? value
          .split(',')
          .map((word) => word.trim())
          .filter(Boolean)
      : value,
  );
  const { expected = 'words separated by commas' } = options;
  return declare(name, expected, options, [toList, IsString({ each: true })]);
}
