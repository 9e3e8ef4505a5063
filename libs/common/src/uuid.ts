const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether the database takes a text as an id: it refuses a statement that has another one. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}
