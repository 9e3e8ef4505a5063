/** Concatenates sample arrays. */
export function joinSamples(parts: readonly Float32Array[]): Float32Array {
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
