/* Small functions and figures that every part of the project needs, without the rest of `#common`. */

/** Bytes. */
export const mebibyte = 2 ** 20;

/** Returns true for an object with members: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the product, such as the number of values of a tensor with these sizes; 1 for none. */
export function productOf(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}

/** Returns one array of all values, in order; a single part is returned as it is. */
export function joinFloats(parts: readonly Float32Array[]): Float32Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const whole = new Float32Array(parts.reduce((total, { length }) => total + length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Returns the message of an error, for logs and messages. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
