/** The forms in which callers and operators write when a key expires, as regular expressions. */
export const expiryForms = [/^\d{4}-\d{2}-\d{2}$/, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/];

/** The moment a text means, a date being its first moment in UTC; null for what is no such text, or no such day. */
export function expiryMoment(text: string): Date | null {
  if (!expiryForms.some((form) => form.test(text))) return null;
  const date = new Date(text);
  // 31 February is a March day to some parsers.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 19).replace('Z', ''))
    ? date
    : null;
}
