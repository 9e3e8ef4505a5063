/** Reads bytes in their order; throws a `RangeError` past their end. */
export class ByteReader {
  private offset = 0;

  constructor(private readonly bytes: Buffer) {}

  take(count: number): Buffer {
    const end = this.offset + count;
    if (end > this.bytes.length) throw new RangeError('it is too short');
    const taken = this.bytes.subarray(this.offset, end);
    this.offset = end;
    return taken;
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  /** What has not been read; stays unread. */
  rest(): Buffer {
    return this.bytes.subarray(this.offset);
  }

  /** A length below 16,384, in one or two bytes of seven bits; the network refuses longer forms of a short length. */
  length(): number {
    const low = this.byte();
    if (low < 0x80) return low;
    const high = this.byte();
    if (high === 0 || high >= 0x80) throw new RangeError('a length is malformed');
    return (low & 0x7f) | (high << 7);
  }

  /** Items are at least a byte long, so that a length beyond the end is found out at once. */
  list<Item>(read: () => Item): Item[] {
    const count = this.length();
    if (count > this.bytes.length - this.offset) throw new RangeError('it is too short');
    return Array.from({ length: count }, read);
  }
}
