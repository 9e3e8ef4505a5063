import { plainToInstance } from 'class-transformer';
import { validateSync, ValidateBy, type ValidationArguments } from '#platform/validation';

/**
 * Validates an object whose every member, under any name, matches `schema`: `{ "2K": { usd: 1, diem: 1 } }`.
 * class-validator supports this only for arrays.
 */
export function IsRecordOf(schema: new () => object): PropertyDecorator {
  return ValidateBy({
    name: 'isRecordOf',
    validator: {
      validate: (value: unknown) => findBadMember(value, schema) === null,
      defaultMessage: (args?: ValidationArguments) =>
        `${args?.property ?? 'value'} ${findBadMember(args?.value, schema) ?? 'is not valid'}`,
    },
  });
}

function findBadMember(value: unknown, schema: new () => object): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'object' || member === null) return `has a member "${name}" that is not an object`;
    const errors = validateSync(plainToInstance(schema, member), { whitelist: true, forbidNonWhitelisted: true });
    const first = errors[0];
    if (first) return `has a member "${name}" whose "${first.property}" is missing or wrong`;
  }
  return null;
}
