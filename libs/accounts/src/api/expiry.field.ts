import { CheckedField } from '#platform/http';
import { expiryForms, expiryMoment } from '../keys/expiry-moment.js';

const wording = 'must be "", a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z';

function expiryProblem(value: unknown): string | null {
  if (value === '') return null;
  const moment = typeof value === 'string' ? expiryMoment(value) : null;
  if (moment === null) return wording;
  return moment.getTime() > Date.now() ? null : 'must lie in the future';
}

/** Declares `expiresAt` of a request. An empty string means never; so does null where it is documented as allowed. */
export function ExpiryField(options: { description: string; nullable?: boolean }): PropertyDecorator {
  const variants = [
    { type: 'string', enum: [''] },
    ...expiryForms.map(({ source }) => ({ type: 'string', pattern: source })),
  ];
  return CheckedField({
    ...options,
    name: 'isExpiry',
    example: '2027-01-31T12:00:00Z',
    schema: { anyOf: variants },
    check: expiryProblem,
  });
}

/** Returns what a valid `expiresAt` means; undefined when it is absent. */
export function expiryOf(value: string | null | undefined): Date | null | undefined {
  if (value === undefined) return undefined;
  return value === null || value === '' ? null : new Date(value);
}
