import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Matches, Max, Min, MinLength } from '../validation/index.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Description of a variable for `docs/reference/configuration.md` and for configuration errors. */
export interface VariableDescription {
  /** Environment variable name. */
  name: string;
  /** Property of the config class. */
  property: string;
  /** Its effect, in one sentence. */
  about: string;
  /** Expected value, worded to follow "expected …". */
  expected: string;
  /** Default as written in the environment; null: optional without a default. */
  defaultText: string | null;
  required: boolean;
  /** Secrets are never printed. */
  secret: boolean;
}

/** Options shared by every kind of variable. Without `default` or `optional`, the variable must be set. */
interface CommonOptions<T> {
  about: string;
  default?: T;
  optional?: boolean;
  secret?: boolean;
}

interface TextOptions extends CommonOptions<string> {
  pattern?: RegExp;
  /** The pattern in words. */
  expected?: string;
}

interface IntegerOptions extends CommonOptions<number> {
  min: number;
  max: number;
}

interface ChoiceOptions extends CommonOptions<string> {
  choices: readonly string[];
}

/** A config class that another may extend by variables of its own. */
// oxlint-disable-next-line typescript/no-explicit-any -- TypeScript lets a mixin extend no other constructor
export type ConfigClass = new (...args: any[]) => object;

const descriptions = new Map<object, VariableDescription[]>();

/** Returns the variables of a config class, inherited ones first. */
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

/** A variable used as it is. */
export function TextVariable(name: string, options: TextOptions): PropertyDecorator {
  const expected = options.expected ?? 'text';
  const pattern = options.pattern ? [Matches(options.pattern)] : [];
  return declare(name, expected, options, [IsString(), MinLength(1), ...pattern]);
}

/** A whole number, with inclusive bounds. */
export function IntegerVariable(name: string, options: IntegerOptions): PropertyDecorator {
  const toNumber = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^-?\d+$/.test(value.trim()) ? Number(value) : value,
  );
  const expected = `a whole number from ${options.min} to ${options.max}`;
  return declare(name, expected, options, [toNumber, IsInt(), Min(options.min), Max(options.max)]);
}

/** A port number; 0 takes a free one. */
export function PortVariable(name: string, options: CommonOptions<number>): PropertyDecorator {
  return IntegerVariable(name, { ...options, min: 0, max: 65_535 });
}

/** One of a set of words. */
export function ChoiceVariable(name: string, options: ChoiceOptions): PropertyDecorator {
  return declare(name, `one of ${options.choices.join(', ')}`, options, [IsIn(options.choices)]);
}

const booleanWords: Record<string, boolean> = { true: true, '1': true, yes: true, false: false, '0': false, no: false };

export function BooleanVariable(name: string, options: CommonOptions<boolean>): PropertyDecorator {
  const toBoolean = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? (booleanWords[value.trim().toLowerCase()] ?? value) : value,
  );
  return declare(name, 'true or false', options, [toBoolean, IsBoolean()]);
}

/** Words separated by commas. `expected` describes further restrictions when a separate check enforces them. */
export function ListVariable(
  name: string,
  options: CommonOptions<string> & { expected?: string; choices?: readonly string[] },
): PropertyDecorator {
  const toList = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string'
      ? value
          .split(',')
          .map((word) => word.trim())
          .filter(Boolean)
      : value,
  );
  const { choices } = options;
  const { expected = choices ? `words separated by commas, of ${choices.join(', ')}` : 'words separated by commas' } =
    options;
  const words = choices ? [IsIn(choices, { each: true })] : [];
  return declare(name, expected, options, [toList, IsString({ each: true }), ...words]);
}
