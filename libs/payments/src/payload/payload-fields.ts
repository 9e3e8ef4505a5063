import { PlatformError } from '#common';

/** A JSON object of a client. */
export type Fields = Readonly<Record<string, unknown>>;

/** A payment that cannot be accepted; `field` is its path in the payload. Nothing was sent. */
export function invalidPayment(field: string, problem: string): PlatformError {
  return new PlatformError('X402_INVALID_PAYMENT', `${field} ${problem}`, field);
}

export function objectOf(value: unknown, field: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw invalidPayment(field, 'must be an object.');
}

/** Clients of some languages send null for what is absent. */
export function optionalObject(value: unknown, field: string): Fields | null {
  return value === undefined || value === null ? null : objectOf(value, field);
}

interface TextRule {
  pattern: RegExp;
  /** Characters; a longer text meets no pattern. */
  max: number;
  expected: string;
}

export function textOf(value: unknown, field: string, { pattern, max, expected }: TextRule): string {
  if (typeof value === 'string' && value.length <= max && pattern.test(value)) return value;
  throw invalidPayment(field, `must be ${expected}.`);
}

/** A number of at most 78 digits, as uint256 has. */
export function integerOf(value: unknown, field: string): bigint {
  const rule = { pattern: /^(0|[1-9]\d*)$/, max: 78, expected: 'a whole number, as a string of decimal digits' };
  return BigInt(textOf(value, field, rule));
}

/** Refuses a member that is given and is not `expected`, in any case of letters where `anyCase` is set. */
export function assertSame(
  value: unknown,
  { field, expected, anyCase = false }: { field: string; expected: string; anyCase?: boolean },
): void {
  if (value === undefined || value === null) return;
  const isSame =
    typeof value === 'string' &&
    (value === expected ||
      (anyCase && value.length === expected.length && value.toLowerCase() === expected.toLowerCase()));
  if (!isSame) throw invalidPayment(field, `must be ${JSON.stringify(expected)}, as offered.`);
}
