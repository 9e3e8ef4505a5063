import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  registerDecorator,
  type ValidationArguments,
  nest,
  type NestedClass,
} from '../validation/index.js';

/*
 * One decorator per field of a request body, so that validation and the OpenAPI document cannot diverge. A field is
 * optional unless `required`; null counts as absent, as OpenAI clients send it.
 */

interface FieldOptions {
  description: string;
  required?: boolean;
  /** Shown as nullable in the document; null is accepted on every optional field. */
  nullable?: boolean;
  example?: unknown;
  deprecated?: boolean;
}

interface RangeOptions extends FieldOptions {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  default?: number;
}

function membership(options: FieldOptions): PropertyDecorator {
  return options.required === true ? IsDefined({ message: '$property is required' }) : IsOptional();
}

/**
 * Generators of clients take a member with a `default` for one that is always there, and require it. The default of a
 * field that a client may leave out is therefore in the description and under a name of its own.
 */
function documented(options: FieldOptions, { default: value, ...schema }: Record<string, unknown>): PropertyDecorator {
  const { description, required, nullable, example, deprecated } = options;
  const shown = {
    ...{ description: value === undefined ? description : `${description} Default: \`${String(value)}\`.` },
    ...{ example, deprecated, nullable, required: required === true, ...schema, 'x-default-value': value },
  };
  const defined = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
  return ApiProperty(defined as ApiPropertyOptions);
}

function rangeRules(options: RangeOptions): PropertyDecorator[] {
  const rules: PropertyDecorator[] = [];
  const { minimum, maximum } = options;
  if (minimum !== undefined) rules.push(Min(options.exclusiveMinimum === true ? minimum + 1 : minimum));
  if (maximum !== undefined) rules.push(Max(maximum));
  return rules;
}

function rangeSchema(options: RangeOptions): Record<string, unknown> {
  const { minimum, maximum, exclusiveMinimum } = options;
  return { minimum, maximum, exclusiveMinimum, default: options.default };
}

export function NumberField(options: Omit<RangeOptions, 'exclusiveMinimum'>): PropertyDecorator {
  return applyDecorators(
    membership(options),
    IsNumber({}, { message: '$property must be a number' }),
    ...rangeRules(options),
    documented(options, { type: 'number', ...rangeSchema(options) }),
  );
}

export function IntegerField(options: RangeOptions): PropertyDecorator {
  return applyDecorators(
    membership(options),
    IsInt(),
    ...rangeRules(options),
    documented(options, { type: 'integer', ...rangeSchema(options) }),
  );
}

export function BooleanField(options: FieldOptions & { default?: boolean }): PropertyDecorator {
  return applyDecorators(
    membership(options),
    IsBoolean(),
    documented(options, { type: 'boolean', default: options.default }),
  );
}

/** A text. `notBlank` refuses one of white space only, which says as little as an empty one. */
export function TextField(
  options: FieldOptions & {
    minLength?: number;
    maxLength?: number;
    notBlank?: boolean;
    format?: string;
    default?: string;
  },
): PropertyDecorator {
  const { minLength, maxLength, notBlank = false, format } = options;
  return applyDecorators(
    membership(options),
    IsString(),
    ...(minLength === undefined ? [] : [MinLength(minLength)]),
    ...(maxLength === undefined ? [] : [MaxLength(maxLength)]),
    ...(notBlank ? [Matches(/\S/, { message: '$property must not be blank' })] : []),
    documented(options, { type: 'string', minLength, maxLength, format, default: options.default }),
  );
}

/** One of `values`; `alsoAccepted` are other spellings, which the document leaves out. */
export function ChoiceField(
  values: readonly string[],
  options: FieldOptions & { default?: string; alsoAccepted?: readonly string[] },
): PropertyDecorator {
  return applyDecorators(
    membership(options),
    IsIn([...values, ...(options.alsoAccepted ?? [])], { message: `$property must be one of: ${values.join(', ')}` }),
    documented(options, { type: 'string', enum: [...values], default: options.default }),
  );
}

interface ListOptions extends FieldOptions {
  minItems?: number;
  maxItems?: number;
}

function listRules(options: ListOptions): PropertyDecorator[] {
  return [
    membership(options),
    IsArray(),
    ...(options.minItems === undefined ? [] : [ArrayMinSize(options.minItems)]),
    ...(options.maxItems === undefined ? [] : [ArrayMaxSize(options.maxItems)]),
  ];
}

/** A list of strings, integers or numbers. */
export function ScalarListField(kind: 'string' | 'integer' | 'number', options: ListOptions): PropertyDecorator {
  const forEachItem = { each: true };
  const item =
    kind === 'string' ? IsString(forEachItem) : kind === 'integer' ? IsInt(forEachItem) : IsNumber({}, forEachItem);
  const { minItems, maxItems } = options;
  return applyDecorators(
    ...listRules(options),
    item,
    documented(options, { type: 'array', items: { type: kind }, minItems, maxItems }),
  );
}

/**
 * A list of objects. `choose` returns the class of each item, or why it has none; `models` lists all possible classes
 * for the document.
 */
export function ObjectListField(choose: NestedClass, models: NewableClass[], options: ListOptions): PropertyDecorator {
  const references = models.map((model) => ({ $ref: `#/components/schemas/${model.name}` }));
  const { minItems, maxItems } = options;
  const items = references.length === 1 ? references[0] : { anyOf: references };
  return applyDecorators(
    ...listRules(options),
    nest(choose),
    documentedModels(models),
    documented(options, { type: 'array', items, minItems, maxItems }),
  );
}

type NewableClass = new () => object;

/** Registers the classes with the document, whatever property they are used on. */
function documentedModels(models: NewableClass[]): PropertyDecorator {
  return (target) => ApiExtraModels(...models)(target.constructor);
}

export function ObjectField(model: NewableClass, options: FieldOptions): PropertyDecorator {
  return applyDecorators(
    membership(options),
    IsObject(),
    nest(() => model),
    documentedModels([model]),
    documented(options, { allOf: [{ $ref: `#/components/schemas/${model.name}` }] }),
  );
}

/** An object whose members are not validated. */
export function FreeObjectField(options: FieldOptions): PropertyDecorator {
  return applyDecorators(
    membership(options),
    IsObject(),
    documented(options, { type: 'object', additionalProperties: { nullable: true } }),
  );
}

/**
 * A field with a custom check, which returns null for a valid value, else the problem, worded to follow the field's
 * name.
 */
export function CheckedField(
  options: FieldOptions & { name: string; schema: Record<string, unknown>; check: (value: unknown) => string | null },
): PropertyDecorator {
  const rule: PropertyDecorator = (target, propertyKey) => {
    registerDecorator({
      name: options.name,
      target: target.constructor,
      propertyName: String(propertyKey),
      validator: {
        validate: (value: unknown) => options.check(value) === null,
        defaultMessage: (details?: ValidationArguments) => `$property ${options.check(details?.value) ?? ''}`,
      },
    });
  };
  return applyDecorators(membership(options), rule, documented(options, options.schema));
}
