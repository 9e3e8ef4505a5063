/** Changes bytes of a file, cuts it off, or repeats a part of it. */
export function mutate(bytes: Buffer, random: () => number): Buffer {
  const position = (): number => Math.floor(random() * bytes.length);
  const kind = random();
  if (kind < 0.15) return bytes.subarray(0, position());
  if (kind < 0.3) {
    const [start, end] = [position(), position()].toSorted((one, other) => one - other);
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
  }
  const copy = Buffer.from(bytes);
  for (let count = 1 + Math.floor(random() * 8); count > 0; count -= 1) {
    copy[position()] = random() < 0.3 ? 0xff : Math.floor(random() * 256);
  }
  return copy;
}
