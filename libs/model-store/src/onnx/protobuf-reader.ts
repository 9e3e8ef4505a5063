/** A field of a message: the location of its content, or its number. */
export interface WireField {
  number: number;
  /** Wire type: 0 varint, 1 eight bytes, 2 length and content, 5 four bytes. */
  wire: number;
  /** Value of a varint; 0 otherwise. */
  value: bigint;
  /** Position of the content, and its length in bytes. */
  start: number;
  length: number;
}

/** Reads bytes of a message that may be larger than memory. */
export interface RandomAccess {
  readonly bytes: number;
  read(position: number, length: number): Promise<Uint8Array>;
}

const windowBytes = 64 * 1024;

/** Maximum size of a field's key and length. */
const maxHeaderBytes = 20;

/** A message in memory. */
export function memoryAccess(bytes: Uint8Array): RandomAccess {
  return {
    bytes: bytes.length,
    read: (position, length) => Promise.resolve(bytes.subarray(position, position + length)),
  };
}

/**
 * Yields the fields of the protobuf message between two positions, in order, without reading their contents. Throws
 * `RangeError` for invalid bytes.
 */
export async function* readFields(
  source: RandomAccess,
  start = 0,
  end = source.bytes,
): AsyncGenerator<WireField, void, undefined> {
  let window: Uint8Array = new Uint8Array(0);
  let windowStart = start;
  for (let position = start; position < end;) {
    if (position + maxHeaderBytes > windowStart + window.length) {
      windowStart = position;
      window = await source.read(position, Math.min(windowBytes, end - position));
    }
    const cursor = new Cursor(window, position - windowStart);
    const key = Number(cursor.varint());
    const wireType = key & 7;
    if (key >>> 3 === 0) throw new RangeError('a field has no number');
    const value = wireType === 0 ? cursor.varint() : 0n;
    const length = contentLength(wireType, cursor);
    const content = windowStart + cursor.offset;
    if (content + length > end) throw new RangeError('a field is longer than its message');
    yield { number: key >>> 3, wire: wireType, value, start: content, length };
    position = content + length;
    // The position moved beyond the window, so it is read again.
    if (position > windowStart + window.length) window = new Uint8Array(0);
    if (window.length === 0) windowStart = position;
  }
}

function contentLength(wireType: number, cursor: Cursor): number {
  if (wireType === 0) return 0;
  if (wireType === 1) return 8;
  if (wireType === 5) return 4;
  if (wireType === 2) return Number(cursor.varint());
  throw new RangeError(`wire type ${wireType} is not read`);
}

class Cursor {
  constructor(
    private readonly bytes: Uint8Array,
    public offset: number,
  ) {}

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.offset];
      if (byte === undefined) throw new RangeError('a number is cut off');
      this.offset += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new RangeError('a number is too long');
  }
}

/** Returns the numbers of a packed or single repeated varint field. */
export function varintsOf(field: WireField, content: Uint8Array): bigint[] {
  if (field.wire === 0) return [field.value];
  const cursor = new Cursor(content, 0);
  const values: bigint[] = [];
  while (cursor.offset < content.length) values.push(cursor.varint());
  return values;
}
