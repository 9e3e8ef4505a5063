/* Small functions and figures that every part of the project needs, without the rest of `#common`. */

/** Bytes. */
export const mebibyte = 2 ** 20;

/** Returns true for an object with members: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the message of an error, for logs and messages. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
