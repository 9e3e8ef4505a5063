import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/* Fields of responses of the Responses API: one decorator per type, so that a field takes one line. */

type FieldOptions = Omit<ApiPropertyOptions, 'type' | 'enum' | 'isArray'>;

function fieldOf(type: string) {
  return (options: FieldOptions = {}): PropertyDecorator => ApiProperty({ type, ...options } as ApiPropertyOptions);
}

export const TextMember = fieldOf('string');
export const IntegerMember = fieldOf('integer');
export const NumberMember = fieldOf('number');
export const BooleanMember = fieldOf('boolean');

/** One of some texts; of one only for a member that names the type of its object. */
export function ChoiceMember(values: readonly string[], options: FieldOptions = {}): PropertyDecorator {
  return ApiProperty({ type: 'string', enum: [...values], ...options } as ApiPropertyOptions);
}

/** An object of a class, which may be declared below: swagger calls only functions of the name `type`. */
export function ObjectMember(model: () => new () => object, options: FieldOptions = {}): PropertyDecorator {
  return ApiProperty({ type: () => model(), ...options } as ApiPropertyOptions);
}

export function ListMember(model: () => new () => object, options: FieldOptions = {}): PropertyDecorator {
  return ApiProperty({ type: () => model(), isArray: true, ...options } as ApiPropertyOptions);
}

/** A list of objects that the document does not describe. */
export function ObjectsMember(options: FieldOptions = {}): PropertyDecorator {
  return ApiProperty({ type: 'array', items: { type: 'object' }, ...options } as ApiPropertyOptions);
}
