const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** True when the database accepts a text as a UUID; otherwise it rejects the statement. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}
