import {
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from '../validation/index.js';

/** Properties of a config class, by the variables that set them. */
type Together = Record<string, string>;

@ValidatorConstraint({ name: 'areSetTogether' })
class AreSetTogether implements ValidatorConstraintInterface {
  validate(_value: unknown, { object, constraints }: ValidationArguments): boolean {
    const members = Object.values(constraints[0] as Together);
    const set = members.filter((member) => (object as Record<string, unknown>)[member] !== undefined);
    return set.length === 0 || set.length === members.length;
  }

  defaultMessage({ constraints }: ValidationArguments): string {
    return `${Object.keys(constraints[0] as Together).join(' and ')} must be set together or not at all.`;
  }
}

/** Marks a property built from several variables that are only valid together. */
export function SetTogether(together: Together): PropertyDecorator {
  return Validate(AreSetTogether, [together]);
}
