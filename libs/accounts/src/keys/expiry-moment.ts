/** Regular expressions for the ways callers and operators write an expiry. */
export const expiryForms = [/^\d{4}-\d{2}-\d{2}$/, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/];

/** Parses an expiry, a date being its first moment in UTC; null for invalid text or a day that does not exist. */
export function expiryMoment(text: string): Date | null {
  if (!expiryForms.some((form) => form.test(text))) return null;
  const date = new Date(text);
  // Some parsers turn 31 February into a day in March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 19).replace('Z', ''))
    ? date
    : null;
}
